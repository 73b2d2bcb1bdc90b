// Shows who is typing in the open streams of the other members. Nothing is stored.
import { listTypingAudience } from "../../db/queries/messages/typing.ts";
import { ParleyError } from "../../errors.ts";
import type { Caller } from "../node/caller.ts";
import type { Core } from "../node/core.ts";
import type { TypingFrame } from "../node/event-hub.ts";
import { keyOf, type Typing } from "../node/typists.ts";
import type { TypeOf } from "../resource/schema.ts";
import type { typingEventResource } from "./event-fields.ts";
import { TYPING } from "./event-types.ts";

/** Shows the other members that the caller is typing. Throws `conversation_not_found`. */
export async function announceTyping(core: Core, caller: Caller, conversationId: string): Promise<void> {
  const typist = { conversation_id: conversationId, user_id: caller.userId };
  if (!(await core.typists.add(typist))) throw new ParleyError("conversation_not_found");
}

/** Sends broadcast typing events to the streams of this node whose users may see them now. */
export async function deliverTyping(core: Core, texts: readonly string[]): Promise<void> {
  const { db, eventHub, typists } = core;
  const all = texts.map((text): Typing => JSON.parse(text));
  for (const typing of all) typists.note(typing);
  if (!eventHub.hasListeners()) return;
  const frames = new Map(all.map((typing) => [keyOf(typing), toFrame(typing)]));
  for (const { reader_id, ...typist } of await listTypingAudience(db, all))
    eventHub.sendTyping(core, reader_id, frames.get(keyOf(typist))!);
}

/** Makes a frame without an id, so that a client's last event id does not change. */
function toFrame(payload: Typing): TypingFrame {
  const { conversation_id } = payload;
  const event: TypeOf<typeof typingEventResource> = { type: TYPING, conversation_id, payload };
  const json = JSON.stringify(event);
  return { sse: Buffer.from(`event: ${TYPING}\ndata: ${json}\n\n`), json: Buffer.from(json) };
}
