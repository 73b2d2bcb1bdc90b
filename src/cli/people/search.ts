import {
  type Message,
  type MessageSearch,
  type Parley,
  ParleyApiError,
} from "../../../packages/parley-client/src/index.ts";
import type { Io } from "../io.ts";
import { isoTime } from "../text.ts";
import { asPerson } from "./access.ts";
import { type Column, type ListOptions, pageSize, printList } from "./listing.ts";
import { conversationName, senderName, summary } from "./messages.ts";
import { getConversationId } from "./partners.ts";

interface Hit extends Message {
  conversation: string;
}

const COLUMNS: readonly Column<Hit>[] = [
  ["ID", ({ id }) => id],
  ["SENT", ({ created_at }) => isoTime(created_at)],
  ["CONVERSATION", ({ conversation }) => conversation],
  ["FROM", senderName],
  ["MESSAGE", summary],
];

/** Lists the messages that have all words, newest first. */
export function search(
  io: Io,
  words: readonly string[],
  { in: where, ...options }: ListOptions & { in?: string },
): Promise<number> {
  return asPerson(io, async (parley) => {
    const query: MessageSearch = { q: words.join(" "), limit: pageSize(options) };
    if (where !== undefined) query.conversation_id = await getConversationId(io, parley, where);
    const list = parley.messages.search(query, { signal: io.stop });
    if (options.json) await printList(io, list, [], options, "");
    else await printList(io, withNames(io, parley, list), COLUMNS, options, "No messages found.");
    return 0;
  });
}

/** Adds the names of the conversations. Retrieves each conversation once. */
async function* withNames(io: Io, parley: Parley, list: AsyncIterable<Message>): AsyncGenerator<Hit> {
  const names = new Map<string, string>();
  for await (const message of list) {
    const id = message.conversation_id;
    if (!names.has(id)) names.set(id, await getName(io, parley, id));
    yield { ...message, conversation: names.get(id)! };
  }
}

async function getName(io: Io, { conversations }: Parley, id: string): Promise<string> {
  try {
    return conversationName(await conversations.retrieve(id, { signal: io.stop }));
  } catch (error) {
    // The user has left it since.
    if (error instanceof ParleyApiError && error.code === "conversation_not_found") return "";
    throw error;
  }
}
