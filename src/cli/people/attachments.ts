import type { Attachment } from "../../../packages/parley-client/src/index.ts";
import { roundedSize } from "../../util/sizes.ts";
import type { Io } from "../io.ts";
import { harmless, isoTime, jsonLine } from "../text.ts";
import { asPerson } from "./access.ts";
import { type Column, type ListOptions, pageSize, printList } from "./listing.ts";
import { senderName } from "./messages.ts";
import { getConversationId } from "./partners.ts";

const COLUMNS: readonly Column<Attachment>[] = [
  ["ID", ({ id }) => id],
  ["FILENAME", ({ filename }) => filename],
  ["SIZE", ({ file_size }) => roundedSize(file_size).padStart(9)],
  ["TYPE", ({ file_type }) => file_type],
  ["FROM", senderName],
  ["SENT", ({ created_at }) => isoTime(created_at)],
];

/** Lists the files of the conversation `with`, or of all conversations; with `text`, only the matching ones. */
export function listAttachments(
  io: Io,
  text: string | undefined,
  options: ListOptions & { with?: string },
): Promise<number> {
  const empty =
    text === undefined ? "No files yet. Upload one: parley upload FILE --to CONTACT" : "No files found.";
  return asPerson(io, async (parley) => {
    const conversation_id =
      options.with === undefined ? undefined : await getConversationId(io, parley, options.with);
    const query = { limit: pageSize(options), conversation_id, q: text, include: "sender" } as const;
    await printList(io, parley.attachments.list(query, { signal: io.stop }), COLUMNS, options, empty);
    return 0;
  });
}

export function renameAttachment(
  io: Io,
  id: string,
  filename: string,
  options: { json?: boolean },
): Promise<number> {
  return asPerson(io, async (parley) => {
    const attachment = await parley.attachments.update(id, { filename }, { signal: io.stop });
    if (options.json) io.print(jsonLine(attachment));
    else io.warn(harmless(`Renamed ${id} to ${attachment.filename}.`));
    return 0;
  });
}

export function removeAttachment(io: Io, id: string, options: { json?: boolean }): Promise<number> {
  return asPerson(io, async (parley) => {
    await parley.attachments.delete(id, { signal: io.stop });
    if (options.json) io.print(jsonLine({ id }));
    else io.warn(harmless(`Removed ${id}.`));
    return 0;
  });
}
