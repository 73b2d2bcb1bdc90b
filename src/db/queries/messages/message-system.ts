import { laterId, timeOfId } from "../../../util/ids.ts";
import { type Statement, sql } from "../../sql.ts";
import { get, type Write } from "../../write.ts";
import { publishReference } from "../events/events.ts";
import { insertBody } from "./message-send.ts";

/** Changes in a group that have a system message. */
type SystemType = "joined" | "left" | "removed" | "renamed" | "role";

/** A message about an action of a member. Everybody who sees the conversation sees it, regardless of blocks. */
export interface SystemMessage {
  type: SystemType;
  senderId: string;
  /** The user whom the action affects; null for the sender or nobody. Of a `joined`: the users whom the sender has added. */
  targetId: string | readonly string[] | null;
  /** Further facts, as a JSON object. */
  data: object | null;
}

/** Creates the ids of system messages in a conversation, each greater than all before it. */
export class MessageIds {
  readonly #newId: string;
  #last: string;

  /** `newId` is the first id, unless the conversation has a later one. `last` is its last id; empty if it has none. */
  constructor(newId: string, last: string) {
    this.#newId = newId;
    this.#last = last;
  }

  next(): string {
    this.#last = laterId(this.#newId, this.#last);
    return this.#last;
  }
}

/** Part of other writes: finds the last id of the conversation; empty if it has no message. */
export function* findLastId(conversationId: string): Write<string> {
  const found = yield* get<{ last_id: string }>(
    sql`SELECT last_id FROM conversations WHERE id = ${conversationId}`,
  );
  return found?.last_id ?? "";
}

/**
 * Part of other writes: returns the statements that add the message to the conversation, for those who are members then. It does
 * not move the conversation up in inboxes, and does not count as unread.
 */
export function* systemMessage(
  conversationId: string,
  id: string,
  { type, senderId, targetId, data }: SystemMessage,
  now: number,
): Write<Statement[]> {
  const bodyId = yield* insertBody(null, data && JSON.stringify(data));
  const targets = targetId === null ? null : [targetId].flat().join(" ");
  return [
    sql`INSERT INTO conversations (id, last_id) VALUES (${conversationId}, ${id})
      ON CONFLICT (id) DO UPDATE SET last_id = excluded.last_id`,
    sql`INSERT INTO messages (conversation_id, id, sender_id, type, body_id, has_files, mentions, created_at, version)
      VALUES (${conversationId}, ${id}, ${senderId}, ${type}, ${bodyId}, 0, ${targets}, ${timeOfId(id)}, 1)`,
    publishReference("message.created", now, conversationId, id, id),
  ];
}
