// The rules of messages after any fault: both members see the same ones in order, and none that nobody sent.
import type { Client } from "../support/client.ts";
import type { AckRecord, SentMessage } from "../support/record.ts";
import type { Message, Talkers } from "../support/sending.ts";

/** Characters of the unique word at the start of each text, see `newText`. */
const OWN_WORD = 16;

/** Returns all messages that the first user sees, and the problems found. The caller compares texts. */
export async function findMessageProblems(
  subject: Talkers & { record: AckRecord },
): Promise<{ messages: Map<string, Message>; problems: string[] }> {
  const { client, peer, shared, notes, record } = subject;
  const problems: string[] = [];
  const [talk, own, peers] = await Promise.all([
    listMessages(client, shared),
    listMessages(client, notes),
    listMessages(peer, shared),
  ]);
  if (withoutLinks(talk) !== withoutLinks(peers)) problems.push("the two do not see the same messages");
  for (const list of [talk, own]) {
    const odd = list.find(({ id, created_at }, i) => {
      const newer = list[i - 1];
      return newer !== undefined && (newer.id <= id || newer.created_at < created_at);
    });
    if (odd) problems.push(`${odd.id} is not in its place`);
  }
  const texts = new Set<string>();
  for (const message of [...talk, ...own]) {
    const { id, text } = message;
    if (text !== null && texts.has(text)) problems.push(`${id} is there twice: ${text}`);
    if (text !== null) texts.add(text);
    const sent = record.items.get(id)?.message;
    if (sent) {
      if (!isAsSent(message, sent))
        problems.push(`lost: files or sender of ${id}: ${JSON.stringify(message)}`);
    } else if (text !== null || message.data !== null || message.attachments.length !== 1) {
      problems.push(`${id} was sent by nobody`);
    }
  }
  return { messages: new Map([...talk, ...own].map((message) => [message.id, message])), problems };
}

/** Asserts that each text is found by its words and nothing else is, since each has a unique word. */
export async function findUnfound(
  { client }: Talkers,
  messages: ReadonlyMap<string, Message>,
): Promise<string[]> {
  const problems: string[] = [];
  for (const { id, text } of messages.values()) {
    if (text === null) continue;
    const q = encodeURIComponent(text.slice(0, OWN_WORD));
    const { data } = await client.get<{ data: Message[] }>(`/v1/messages?q=${q}`);
    if (data.length !== 1 || data[0]!.id !== id)
      problems.push(`${id} is not found by its words, but ${data.map((found) => found.id)}`);
  }
  return problems;
}

async function listMessages(client: Client, conversationId: string): Promise<Message[]> {
  const messages: Message[] = [];
  for (let after = ""; ; after = `&starting_after=${messages.at(-1)!.id}`) {
    const path = `/v1/messages?conversation_id=${conversationId}&limit=100${after}`;
    const page = await client.get<{ data: Message[]; has_more: boolean }>(path);
    messages.push(...page.data);
    if (!page.has_more) return messages;
  }
}

/** A link is signed anew each hour, so it is left out. */
function withoutLinks(messages: readonly Message[]): string {
  return JSON.stringify(messages, (name, value) => (name === "file_url" ? undefined : value));
}

function isAsSent({ sender, attachments }: Message, { isPeers, files }: SentMessage): boolean {
  const names = (those: readonly { id: string; filename: string }[]) =>
    those.map(({ id, filename }) => `${id} ${filename}`).join();
  return (sender.username === "peer") === isPeers && names(attachments) === names(files);
}
