// Actions on a file, in both tabs.
import { useCallback } from "preact/hooks";
import type { Attachment, Message } from "../../../packages/parley-client/src/index.ts";
import { localAddress, type Session, useSession } from "../session/session.ts";
import { useCopy } from "../session/use-copy.ts";

/** The most files of an archive. */
export const MAX_ARCHIVED = 250;

/** Fields that the server adds to files on request. Events do not have them. */
export const FILE_DETAILS = "conversation_id,sender,unscanned,image";

/** A file and its sender: null if the user was erased, undefined if not loaded yet. */
export type SharedFile = Attachment & { sender?: Message["sender"] };

/** Whether the user sent the file. Only then can it be renamed and deleted, if the token may. */
export function isEditable({ sender }: SharedFile, { me, can }: Session): boolean {
  return sender?.id === me.id && can("attachments:write");
}

/** Returns false if the server refused the name. */
export function useRename(): (file: SharedFile, filename: string) => Promise<boolean> {
  const { parley, events, say, report } = useSession();
  return useCallback(
    async (file, filename) => {
      try {
        const renamed = await events.publishResult(
          () => parley.attachments.update(file.id, { filename }),
          (payload) => ({ type: "attachment.updated", payload }),
        );
        say(`Renamed to ${renamed.filename}.`);
        return true;
      } catch (error) {
        report(`${file.filename} was not renamed.`, error);
        return false;
      }
    },
    [parley, events, say, report],
  );
}

export function useCopyLink(): (file: SharedFile) => Promise<void> {
  const copy = useCopy();
  const done = "Link copied. It opens for anyone who has it, for at least an hour.";
  return useCallback((file) => copy(file.file_url, done), [copy]);
}

/** Downloads one file as it is, and several as one ZIP. */
export function useDownload(): (files: readonly SharedFile[]) => Promise<void> {
  const { parley, report } = useSession();
  return async (files) => {
    const link = document.createElement("a");
    try {
      if (files.length === 1) {
        link.href = localAddress(files[0]!.file_url, "&download=1");
        link.download = files[0]!.filename;
      } else {
        const { url, filename } = await parley.archives.create({ attachment_ids: files.map(({ id }) => id) });
        link.href = localAddress(url, "", "archives");
        link.download = filename;
      }
      link.click();
    } catch (error) {
      report("The files were not downloaded.", error);
    }
  };
}
