import { ParleyError } from "../../errors.ts";
import { stripFields, toNewAttachment } from "../files/attachments.ts";
import type { RequestUploads } from "../files/upload-once.ts";
import type { Caller } from "../node/caller.ts";
import type { Core } from "../node/core.ts";
import { newActedEntry } from "../record/audit-trail.ts";
import { isReplay, writeIdempotent } from "../record/idempotency.ts";
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

/** Sends a message with its files, all or nothing. Throws what the write throws, and `rate_limited`. */
export async function createMessage(
  core: Core,
  caller: Caller,
  key: string | undefined,
  fields: MessageFields,
  uploads?: RequestUploads,
): Promise<Versioned> {
  const sent = uploads?.files ?? [];
  checkFields(fields, sent.length > 0);
  const replayOnly = uploads?.isReplay ?? (key !== undefined && (await isReplay(core, caller, key)));
  const { conversation_id: conversationId, text = null, data = null } = fields;
  if (!replayOnly && (text !== null || data !== null)) await countMessage(core, caller, conversationId);
  const files = [];
  for (const upload of sent) files.push(await upload.finish());
  const input = {
    newId: core.newId("msg"),
    conversationId,
    senderId: caller.userId,
    text,
    data,
    mentions: fields.mentions ?? [],
    replyToId: fields.reply_to_id ?? null,
    files,
    now: core.clock(),
    entry: newActedEntry(core, caller),
  };
  const asked = ["createMessage", fields, sent.map((upload) => upload.asked)];
  const { result, replayed } = uploads
    ? await uploads.commit(asked, "createMessage", input)
    : await writeIdempotent(core, { caller, key, asked, replayOnly }, "createMessage", input);
  if (replayed) return { ...(await readBack(getMessage(core, caller, result.id))), replayed };
  for (const file of files) core.previews?.prepare(toNewAttachment(file, result.id));
  return renderSent(core, result, input);
}

function checkFields({ conversation_id, text, data, reply_to_id }: MessageFields, hasFiles: boolean): void {
  knownForm(conversation_id, "cnv", "conversation_not_found", "conversation_id");
  if (reply_to_id) knownForm(reply_to_id, "msg", "message_not_found", "reply_to_id");
  if (data || hasFiles || text) return;
  throw new ParleyError("missing_parameter", "A message needs visible text, data or a file.", {
    param: "text",
  });
}
