// The files whose names match a search, in all conversations, newest first.
import { useId, useMemo, useState } from "preact/hooks";
import { FILE_DETAILS, type SharedFile } from "../files/file-actions.ts";
import { Thumbnail } from "../files/file-card.tsx";
import { usePeople } from "../people/people.tsx";
import { useChanges, useSession } from "../session/session.ts";
import { formatFullTime, formatTime } from "../ui/format.ts";
import { ListBox } from "../ui/list-box.tsx";
import { PageFailure, toCount } from "../ui/page-notes.tsx";
import { type Pages, readFound, usePages } from "../ui/use-pages.ts";
import { toHitPlace } from "./found-list.tsx";
import { hasMatch, isSearchable } from "./marks.ts";

const PAGE = 50;
const ROW = 60;
const THUMB = { width: 40, height: 40 };

/** Finds nothing for a text without words, or if the token cannot open the files. */
export function useFoundFiles(q: string): Pages<SharedFile> {
  const { parley, can } = useSession();
  const isAllowed = can("attachments:read") && can("messages:read");
  const pages = usePages<SharedFile>(q, async (after, signal) => {
    if (!isAllowed || !isSearchable(q)) return { data: [], has_more: false };
    const query = { q, include: FILE_DETAILS, limit: PAGE, starting_after: after };
    return readFound((query) => parley.attachments.list(query, { signal }), query);
  });
  const { edit, reload, items, current } = pages;
  useChanges((change) => {
    if (change.type === "missed") reload();
    else if (change.type === "attachment.created" || change.type === "attachment.updated") {
      const { id, filename } = change.payload;
      if (hasMatch(filename, q) || items.some((each) => each.id === id)) reload();
    } else if (change.type === "attachment.deleted")
      edit((files) => files.filter(({ id }) => id !== change.payload.id));
  });
  // Until the answer arrives, show the results of the previous search that also match this one.
  const shown = useMemo(
    () => (current ? items : items.filter(({ filename }) => hasMatch(filename, q))),
    [items, current, q],
  );
  return { ...pages, items: shown };
}

export function FoundFiles({ found, q }: { found: Pages<SharedFile>; q: string }) {
  const prefix = useId();
  const [chosenId, setChosenId] = useState("");
  const open = useOpenAtMessage();
  if (found.items.length === 0) return <PageFailure pages={found} />;
  return (
    <section class="found-files">
      <h2 class="found-head muted small">Files</h2>
      <span class="visually-hidden" role="status">
        Files: {toCount(found)}
      </span>
      <ListBox
        key={q}
        label="Files found"
        pages={found}
        rowHeight={ROW}
        toId={({ id }) => prefix + id}
        openId={prefix + chosenId}
        onOpen={(file) => {
          setChosenId(file.id);
          void open(file);
        }}
      >
        {(file) => <Row file={file} />}
      </ListBox>
      <PageFailure pages={found} />
    </section>
  );
}

/** Returns a function that opens the conversation of a file at its message. */
export function useOpenAtMessage(): (file: SharedFile) => Promise<void> {
  const { parley, jumps, report } = useSession();
  return async ({ message_id, filename }) => {
    try {
      const message = await parley.messages.retrieve(message_id);
      const { conversation_id: id } = message;
      jumps.to(message, toHitPlace(await parley.conversations.retrieve(id)));
    } catch (error) {
      report(`${filename} cannot be opened.`, error);
    }
  };
}

function Row({ file }: { file: SharedFile }) {
  const { me } = useSession();
  const { sender = null } = file;
  const { name } = usePeople().toPerson(sender);
  const by = sender?.id === me.id ? "You" : name;
  return (
    <>
      <span class="message-thumb">
        <Thumbnail key={file.file_url} file={file} box={THUMB} />
      </span>
      <span class="contact-text">
        <span class="contact-line">
          <span class="contact-name">{file.filename}</span>
          <time class="muted small" title={formatFullTime(file.created_at)}>
            {formatTime(file.created_at)}
          </time>
        </span>
        <span class="muted small ellipsis">{by}</span>
      </span>
    </>
  );
}
