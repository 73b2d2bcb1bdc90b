import { findSentBefore, type SentBefore } from "../../db/queries/record/client-ids.ts";
import { ParleyError } from "../../errors.ts";
import { stripFields, toNewAttachment } from "../files/attachments.ts";
import type { RequestUploads } from "../files/upload-once.ts";
import type { Caller } from "../node/caller.ts";
import type { Core } from "../node/core.ts";
import { newActedEntry } from "../record/audit-trail.ts";
import { type Identified, isReplay, toFingerprint, writeIdempotent } from "../record/idempotency.ts";
import {
  clientId,
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
  client_id: optional(
    describedField(
      clientId,
      "An id that you choose for the message, such as a UUID: sending it again creates no second message. In a form it must come before the files.",
    ),
  ),
  ...stripFields,
};
type MessageFields = Parsed<typeof messageFields>;

/** A message that was sent now or before. */
interface Sent extends Versioned {
  /** Set if the caller has sent it before with this `client_id`. */
  isSentBefore?: true;
}

/** A request to send a message, as keys and client ids identify it. */
interface SendRequest extends Identified {
  caller: Caller;
  replayOnly: boolean;
}

/**
 * Sends a message with its files, all or nothing. If the caller has sent it before with this `client_id`, nothing is counted or
 * stored. Throws what the write throws, `rate_limited`, and `message_not_found` if the message sent before is gone.
 */
export async function createMessage(
  core: Core,
  caller: Caller,
  key: string | undefined,
  fields: MessageFields,
  uploads?: RequestUploads,
): Promise<Sent> {
  const files = uploads?.files ?? [];
  checkFields(fields, files.length > 0);
  const replayOnly = uploads?.isReplay ?? (key !== undefined && (await isReplay(core, caller, key)));
  const asked = ["createMessage", fields, files.map((upload) => upload.asked)];
  const request = { caller, key, asked, replayOnly };
  const { client_id } = fields;
  if (client_id === undefined || replayOnly) return send(core, request, fields, uploads);
  const find = () => findSentBefore(core.db, caller.userId, client_id, core.clock());
  const sentBefore = await (uploads?.findSentBefore(client_id) ?? find());
  if (sentBefore) return sendAgain(core, request, sentBefore);
  try {
    return await send(core, request, fields, uploads);
  } catch (error) {
    const isTaken = error instanceof ParleyError && error.code === "client_id_conflict";
    // A request that ran at the same time has sent it.
    const sentMeanwhile = isTaken ? await find() : undefined;
    if (!sentMeanwhile) throw error;
    return sendAgain(core, request, sentMeanwhile);
  }
}

/** Answers with the message sent before. Throws `client_id_conflict` if it had other content, and `message_not_found`. */
async function sendAgain(
  core: Core,
  { caller, asked }: SendRequest,
  { message_id, fingerprint }: SentBefore,
): Promise<Sent> {
  if (Buffer.compare(fingerprint, toFingerprint(asked)) !== 0)
    throw new ParleyError("client_id_conflict", undefined, { param: "client_id" });
  return { ...(await getMessage(core, caller, message_id)), replayed: true, isSentBefore: true };
}

async function send(
  core: Core,
  request: SendRequest,
  fields: MessageFields,
  uploads: RequestUploads | undefined,
): Promise<Versioned> {
  const { caller, asked, replayOnly } = request;
  const { conversation_id: conversationId, client_id, text = null, data = null } = fields;
  if (!replayOnly && (text !== null || data !== null)) await countMessage(core, caller, conversationId);
  const files = [];
  for (const upload of uploads?.files ?? []) files.push(await upload.finish());
  const input = {
    newId: core.newId("msg"),
    conversationId,
    senderId: caller.userId,
    text,
    data,
    mentions: fields.mentions ?? [],
    replyToId: fields.reply_to_id ?? null,
    clientId: client_id === undefined ? null : { id: client_id, fingerprint: toFingerprint(asked) },
    files,
    now: core.clock(),
    entry: newActedEntry(core, caller),
  };
  const { result, replayed } = uploads
    ? await uploads.commit(asked, "createMessage", input)
    : await writeIdempotent(core, request, "createMessage", input);
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
