// The open file of a conversation, in either tab.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { MessageActions } from "../messages/message-tools.tsx";
import type { Messages } from "../messages/use-messages.ts";
import { useChanges, useSession } from "../session/session.ts";
import { FILE_DETAILS, type SharedFile } from "./file-actions.ts";
import { RemoveFiles } from "./remove-files.tsx";
import { Viewer } from "./viewer.tsx";

interface Opened {
  opened: string | undefined;
  lookAt: (id: string | undefined) => void;
}

/** How many files before the end to load the next page. */
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
    toName: (file: SharedFile) => string;
  },
) {
  const { files, hasMore, opened, lookAt } = props;
  const { say } = useSession();
  const [isRemoving, setRemoving] = useState(false);
  const at = files.findIndex((file) => file.id === opened);
  const file = files[at];
  useEffect(() => {
    if (at >= 0 && at + AHEAD >= files.length) props.more();
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

/** The file of a message that is open in the viewer. */
export function OpenMessageFile({
  pages,
  actions,
  ...opened
}: Opened & { pages: Messages; actions: MessageActions }) {
  const { items, hasNewer, hasOlder, older } = pages;
  const details = useDetails(opened.opened);
  const files = useMemo(() => {
    const all = items.flatMap(({ attachments, sender }) =>
      attachments.map((file): SharedFile => {
        return file.id === details?.id ? { ...details, ...file, sender } : { ...file, sender };
      }),
    );
    return all.reverse();
  }, [items, details]);
  return (
    <OpenFile
      {...opened}
      files={files}
      hasMore={hasNewer ? undefined : hasOlder}
      more={older}
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
