// Deletes one or several files after a confirmation.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Parley } from "../../../packages/parley-client/src/index.ts";
import { isForeign, isGone } from "../failures.ts";
import { useSession } from "../session/session.ts";
import { forEachAtOnce } from "../ui/at-once.ts";
import { Dialog } from "../ui/dialog.tsx";
import { counted } from "../ui/format.ts";
import { toNotAllowed } from "../ui/page-notes.tsx";
import { isEditable, type SharedFile } from "./file-actions.ts";

/** `files`: may include files of other users, which stay. */
export function RemoveFiles({ files, onClose }: { files: readonly SharedFile[]; onClose: () => void }) {
  const session = useSession();
  const { parley, events, say, report } = session;
  const [own] = useState(() => files.filter((file) => isEditable(file, session)));
  /** How many files are deleted; undefined before the first. */
  const [done, setDone] = useState<number>();
  const controller = useRef(new AbortController());
  const isClosed = useRef(false);
  useEffect(() => () => controller.current.abort(), []);
  const remove = async () => {
    setDone(0);
    let count = 0;
    const failure = await removeAll(parley, own, controller.current, ({ id }) => {
      setDone(++count);
      events.publish({ type: "attachment.deleted", payload: { id, conversation_id: null } });
    });
    const isOne = own.length === 1;
    if (count > 0) say(isOne ? `${own[0]!.filename} was deleted.` : toResult(count, "deleted"));
    const left = own.length - count;
    if (failure !== undefined)
      report(isOne ? `${own[0]!.filename} was not deleted.` : toResult(left, "not deleted"), failure);
    // After a stop, another dialog may be open by now.
    if (!isClosed.current) close();
  };
  const close = () => {
    isClosed.current = true;
    controller.current.abort();
    onClose();
  };
  if (own.length === 0) {
    return (
      <Dialog title={`${files.length === 1 ? "This file" : "These files"} can't be deleted`} onClose={close}>
        <p class="dialog-text">
          {session.can("attachments:write")
            ? "Only the user who sent a file can delete it."
            : toNotAllowed("delete files")}
        </p>
      </Dialog>
    );
  }
  return (
    <Dialog title={own.length === 1 ? "Delete this file?" : `Delete ${own.length} files?`} onClose={close}>
      <p class="dialog-text">{toRemovalText(own, files.length - own.length)}</p>
      {done !== undefined && own.length > 1 && (
        <progress class="dialog-progress" max={own.length} value={done} aria-label="Files deleted" />
      )}
      <div class="dialog-actions">
        <button type="button" class="button" onClick={close}>
          {done === undefined ? "Cancel" : "Stop"}
        </button>
        <button type="button" class="button danger" disabled={done !== undefined} onClick={remove}>
          Delete
        </button>
      </div>
    </Dialog>
  );
}

/** Deletes a few files at once. Stops at an error, unless another user owns the file. Returns the first error. */
async function removeAll(
  parley: Parley,
  files: readonly SharedFile[],
  controller: AbortController,
  onRemoved: (file: SharedFile) => void,
): Promise<unknown> {
  let failure: unknown;
  await forEachAtOnce(files, async (file) => {
    if (controller.signal.aborted) return;
    try {
      await parley.attachments.delete(file.id);
      onRemoved(file);
    } catch (error) {
      if (isGone(error)) return onRemoved(file);
      failure ??= error;
      if (!isForeign(error)) controller.abort();
    }
  });
  return failure;
}

function toResult(count: number, what: string): string {
  return `${counted(count, "file was", "files were")} ${what}.`;
}

function toRemovalText(own: readonly SharedFile[], kept: number): string {
  const [what, links] = own.length === 1 ? [own[0]!.filename, "its"] : [`${own.length} files`, "their"];
  const others =
    kept === 0 ? "" : ` ${counted(kept, "file was", "files were")} sent by others and will stay.`;
  return `This deletes ${what} for everyone, and ${links} links stop working.${others} You can't undo this.`;
}
