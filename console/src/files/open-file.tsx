// The open file of a conversation, in either tab.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { MessageActions } from "../messages/message-tools.tsx";
import type { Messages } from "../messages/use-messages.ts";
import { useChanges, useSession } from "../session/session.ts";
import { FILE_DETAILS, type SharedFile } from "./file-actions.ts";
import { RemoveFiles } from "./remove-files.tsx";
import { useBeyond } from "./use-beyond.ts";
import { Viewer } from "./viewer.tsx";

interface Opened {
  opened: string | undefined;
  lookAt: (id: string | undefined) => void;
}

/** How many files before an end to load the next page. */
const AHEAD = 4;

export function OpenFile(
  props: Opened & {
    /** In the order of the viewer's steps. */
    files: readonly SharedFile[];
    /**
     * Whether there are more files after these; undefined if some before are missing too, so that positions are
     * unknown.
     */
    hasMore: boolean | undefined;
    more: () => void;
    /** Loads files before these. */
    before?: () => void;
    toName: (file: SharedFile) => string;
  },
) {
  const { files, hasMore, opened, lookAt } = props;
  const { say } = useSession();
  const [isRemoving, setRemoving] = useState(false);
  const at = files.findIndex((file) => file.id === opened);
  const file = files[at];
  useEffect(() => {
    if (at < 0) return;
    if (at + AHEAD >= files.length) props.more();
    if (at < AHEAD) props.before?.();
  });
  useChanges((event) => {
    if (opened === undefined || event.type !== "attachment.deleted" || event.payload.id !== opened) return;
    const neighbour = files[at + 1] ?? files[at - 1];
    setRemoving(false);
    if (!isRemoving) say(`${file?.filename ?? "The file"} was deleted.`);
    lookAt(isRemoving ? neighbour?.id : undefined);
    focusContent();
  });
  if (!file) return null;
  const step = (to: number) => {
    const target = files[to];
    return target && target !== file ? () => lookAt(target.id) : undefined;
  };
  return (
    <>
      <Viewer
        file={file}
        sender={props.toName(file)}
        position={hasMore === undefined ? "" : `${at + 1} of ${files.length}${hasMore ? "+" : ""}`}
        steps={{ previous: step(at - 1), next: step(at + 1), first: step(0), last: step(files.length - 1) }}
        onRemove={() => setRemoving(true)}
        onClose={() => lookAt(undefined)}
      />
      {isRemoving && <RemoveFiles files={[file]} onClose={() => setRemoving(false)} />}
    </>
  );
}

/** The file of a message that is open in the viewer, which steps through the conversation as it is read. */
export function OpenMessageFile({
  conversationId,
  pages,
  actions,
  opened,
  lookAt,
}: Opened & { conversationId: string; pages: Messages; actions: MessageActions }) {
  const { items, hasNewer, hasOlder, isFull } = pages;
  const details = useDetails(opened);
  const loaded = useMemo(
    () =>
      items.flatMap(({ attachments, sender }) =>
        attachments.map((file): SharedFile => {
          return file.id === details?.id ? { ...details, ...file, sender } : { ...file, sender };
        }),
      ),
    [items, details],
  );
  // A full window would lose messages at the other end, where the open file may be.
  const isLimited = opened !== undefined && isFull;
  const before = useBeyond(conversationId, isLimited && hasOlder ? loaded[0] : undefined, "before");
  const after = useBeyond(conversationId, isLimited && hasNewer ? loaded.at(-1) : undefined, "after");
  const files = [...(before ? [before] : []), ...loaded, ...(after ? [after] : [])];
  const step = (id: string | undefined) => {
    const [from, to] = [opened, id].map((id) => files.find((file) => file.id === id)?.message_id);
    // The messages follow, and with them those that are loaded.
    if (to !== undefined && to !== from) actions.jump(to);
    lookAt(id);
  };
  return (
    <OpenFile
      files={files}
      opened={opened}
      lookAt={step}
      hasMore={hasOlder ? undefined : hasNewer}
      more={() => isFull || pages.newer()}
      before={() => isFull || pages.older()}
      toName={({ sender }) => (sender === undefined ? "" : actions.toName(sender))}
    />
  );
}

/** Loads the details of the open file that a message does not have. If that fails, the file is shown without them. */
function useDetails(id: string | undefined): SharedFile | undefined {
  const { parley } = useSession();
  const [details, setDetails] = useState<SharedFile>();
  useEffect(() => {
    if (id === undefined) return;
    const controller = new AbortController();
    const { signal } = controller;
    parley.attachments.retrieve(id, { include: FILE_DETAILS, signal }).then(setDetails, () => {});
    return () => controller.abort();
  }, [parley, id]);
  return details;
}

/** If the next render removes the focused button, focuses the message with this id, or all files or messages. */
export function focusContent(id = ""): void {
  focusIfLost(
    () =>
      document.getElementById(id) ??
      document.querySelector<HTMLElement>(".thumb[tabindex='0']") ??
      document.querySelector<HTMLElement>(".files, .messages"),
  );
}

/** If the next render removes the focused button, focuses another element. */
export function focusIfLost(find: () => HTMLElement | null): void {
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      if (document.activeElement === document.body) find()?.focus();
    }),
  );
}
