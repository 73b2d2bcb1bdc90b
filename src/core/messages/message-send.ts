import { ParleyError } from "../../errors.ts";
import { stripFields, toNewAttachment } from "../files/attachments.ts";
import { Upload } from "../files/upload-once.ts";
import { commitUploads, type ReceivedFile, storeFile } from "../files/upload-received.ts";
import type { Caller } from "../node/caller.ts";
import type { Core } from "../node/core.ts";
import { isReplay } from "../record/idempotency.ts";
import {
  describedField,
  jsonObject,
  longText,
  nullable,
  optional,
  type Parsed,
  reference,
} from "../resource/fields.ts";
import { knownForm } from "../resource/known-form.ts";
import { mentions } from "../resource/list-fields.ts";
import { readBack, type Versioned } from "../resource/resource.ts";
import { countMessage } from "./message-rate.ts";
import { getMessage, renderSent } from "./messages.ts";

/** The fields of a new message, beside its files. */
export const messageFields = {
  conversation_id: reference("cnv"),
  text: optional(longText),
  data: optional(jsonObject),
  mentions: optional(mentions),
  reply_to_id: optional(nullable(describedField(reference("msg"), "The message that this one replies to."))),
  ...stripFields,
};
type MessageFields = Parsed<typeof messageFields>;

/** A message as a request sends it. */
export interface NewMessage {
  fields: MessageFields;
  files: readonly ReceivedFile[];
}

/**
 * Sends a message with its files, all or nothing. `readRequest` passes the bytes of each file to an upload of its own.
 * Throws what the write throws, and `rate_limited`.
 */
export async function createMessage(
  core: Core,
  caller: Caller,
  key: string | undefined,
  readRequest: (newUpload: () => Upload) => Promise<NewMessage>,
): Promise<Versioned> {
  await using uploads = new AsyncDisposableStack();
  const isRetry = key !== undefined && (await isReplay(core, caller, key));
  const { fields, files } = await readRequest(() => {
    const upload = uploads.use(new Upload(core, caller.userId));
    if (isRetry) upload.hashOnly();
    return upload;
  });
  checkFields(fields, files);
  const { conversation_id: conversationId, text = null, data = null } = fields;
  if (!isRetry && (text !== null || data !== null)) await countMessage(core, caller, conversationId);
  const newFiles = [];
  for (const file of files) newFiles.push(await storeFile(core, caller, file));
  const asked = ["createMessage", fields, files.map(compared)];
  const uploaded = files.map(({ upload }) => upload);
  const request = { caller, key, asked, replayOnly: isRetry };
  const input = {
    newId: core.newId("msg"),
    conversationId,
    senderId: caller.userId,
    text,
    data,
    mentions: fields.mentions ?? [],
    replyToId: fields.reply_to_id ?? null,
    files: newFiles,
    now: core.clock(),
  };
  const { result, replayed } = await commitUploads(core, uploaded, request, "createMessage", input);
  if (replayed) return { ...(await readBack(getMessage(core, caller, result.id))), replayed };
  for (const file of newFiles) core.previews?.prepare(toNewAttachment(file, result.id));
  return renderSent(core, result, input);
}

function checkFields(fields: MessageFields, files: readonly ReceivedFile[]): void {
  const { conversation_id, text, data, reply_to_id } = fields;
  knownForm(conversation_id, "cnv", "conversation_not_found", "conversation_id");
  if (reply_to_id) knownForm(reply_to_id, "msg", "message_not_found", "reply_to_id");
  if (data || files.length > 0 || text) return;
  throw new ParleyError("missing_parameter", "A message needs visible text, data or a file.", {
    param: "text",
  });
}

/** What an Idempotency-Key compares of a file. */
function compared({ upload, filename, declaredType }: ReceivedFile) {
  return { filename, type: declaredType ?? null, sha256: Buffer.from(upload.sha256()).toString("hex") };
}
