// The files of all conversations, and those that take the user's storage.
import { useCallback, useMemo, useState } from "preact/hooks";
import { Header } from "../messages/conversation-header.tsx";
import { usePeople } from "../people/people.tsx";
import { FILES, OWN_FILES, openPlace } from "../place.ts";
import { useOpenAtMessage } from "../search/found-files.tsx";
import { toConversationName } from "../search/found-list.tsx";
import { SearchField } from "../search/search-field.tsx";
import { MAX_QUERY } from "../search/use-found.ts";
import { OwnStorage } from "../session/own-storage.tsx";
import { useSession } from "../session/session.ts";
import { Choice } from "../ui/choice.tsx";
import { Icon } from "../ui/icons.tsx";
import { NotAllowed } from "../ui/page-notes.tsx";
import { useSettled } from "../ui/use-settled.ts";
import type { SharedFile } from "./file-actions.ts";
import { useFileChoice } from "./file-bar.tsx";
import { FileBrowser } from "./file-browser.tsx";
import { useConversations } from "./use-conversations.ts";
import { type Files, useFiles } from "./use-files.ts";
import { useSenderName } from "./use-sender-name.ts";

const TABS = [
  [FILES, "All"],
  [OWN_FILES, "Sent by you"],
] as const;
type FilesPlace = (typeof TABS)[number][0];

export function AllFiles({ place, onBack }: { place: FilesPlace; onBack: () => void }) {
  const { can } = useSession();
  return (
    <section class="conversation" tabIndex={-1} aria-label="Files of all conversations">
      <Header
        onBack={onBack}
        tabs={
          <div class="tab-row">
            <Choice legend="Whose files" name="whose" chosen={place} choices={TABS} onChoose={openPlace} />
          </div>
        }
      >
        <div class="conversation-title">
          <h1 class="name">Files</h1>
          <OwnStorage />
        </div>
      </Header>
      {can("attachments:read") ? <Loaded place={place} /> : <NotAllowed what="see files" />}
    </section>
  );
}

function Loaded({ place }: { place: FilesPlace }) {
  const [typed, setTyped] = useState("");
  const q = useSettled(typed.trim());
  const pages = useFiles(undefined, q);
  return <Shown key={place} place={place} pages={pages} q={q} typed={typed} onType={setTyped} />;
}

function Shown(props: {
  place: FilesPlace;
  pages: Files;
  q: string;
  typed: string;
  onType: (text: string) => void;
}) {
  const { place, pages, q } = props;
  const { me, can } = useSession();
  const isOwn = place === OWN_FILES;
  const [choice, choose] = useFileChoice(isOwn ? "size" : "newest");
  const items = useMemo(
    () => (isOwn ? pages.items.filter(({ sender }) => sender?.id === me.id) : pages.items),
    [pages.items, isOwn, me.id],
  );
  const { toSender, toAbout, load } = useNames();
  const show = useOpenAtMessage();
  return (
    <FileBrowser
      pages={pages}
      items={items}
      label={isOwn ? "Files sent by you" : "Files of all conversations"}
      q={q}
      choice={choice}
      onChoose={choose}
      toAbout={toAbout}
      toSender={toSender}
      onSeen={(files) => load(files.map(({ conversation_id }) => conversation_id!))}
      onShow={can("messages:read") ? show : undefined}
      empty={<NoFiles isOwn={isOwn} />}
      top={(found) => (
        <div class="search-bar files-search">
          <SearchField
            label="Search files by name"
            maxLength={MAX_QUERY}
            value={props.typed}
            onType={props.onType}
          />
          <span class="muted small" role="status">
            {found}
          </span>
        </div>
      )}
    />
  );
}

/** Returns functions that name the sender of a file, and its conversation, which `load` reads. */
function useNames() {
  const { me } = useSession();
  const people = usePeople();
  const { find, load } = useConversations();
  const toSender = useSenderName();
  const toAbout = useCallback(
    (file: SharedFile) => {
      const sender = toSender(file);
      const conversation = find(file.conversation_id!);
      if (!conversation) return sender;
      const name = toConversationName(conversation, people);
      if (conversation.kind === "self" || sender === "") return name;
      if (conversation.group_id !== null) return `${sender} in ${name}`;
      return file.sender?.id === me.id ? `You to ${name}` : name;
    },
    [toSender, find, people.version, me.id],
  );
  return { toSender, toAbout, load };
}

function NoFiles({ isOwn }: { isOwn: boolean }) {
  return (
    <div class="files-empty">
      <span class="empty-art">
        <Icon name="file" />
      </span>
      <h2>No files yet</h2>
      <p class="muted">
        {isOwn
          ? "Files that you send take your storage. They are listed here, the largest first."
          : "The files of all your conversations are listed here."}
      </p>
    </div>
  );
}
