// Messages that the writers of fault suites send, each with an Idempotency-Key, a `client_id` or both, so that it can be sent again.
import { createHash, randomBytes } from "node:crypto";
import type { Answer, Client } from "./client.ts";
import type { AckRecord, Sending } from "./record.ts";
import type { Chance } from "./scale.ts";

/** Two users of a server who have each other as contacts. */
export interface Talkers {
  client: Client;
  peer: Client;
  /** Their shared conversation. */
  shared: string;
  /** The first user's notes to self. */
  notes: string;
}

/** Makes two users contacts of each other: the first user of a new server, and a new one. */
export async function meet(client: Client, asPeer: (token: string) => Client): Promise<Talkers> {
  const make = async (by: Client, path: string, fields: Record<string, string>) => {
    const { status, body } = await by.sendFields("POST", path, fields);
    if (status !== 201) throw new Error(`POST ${path}: ${status} ${body}`);
    return JSON.parse(body.toString());
  };
  const me = await client.get<{ username: string; conversation_id: string }>("/v1/me");
  const { id } = await make(client, "/v1/users", { username: "peer" });
  const peer = asPeer((await make(client, "/v1/tokens", { user_id: id })).token);
  const contact = await make(client, "/v1/contacts", { username: "peer", phone_number: "555" });
  await make(peer, "/v1/contacts", { username: me.username, phone_number: "555" });
  return { client, peer, shared: contact.conversation_id, notes: me.conversation_id };
}

/** A message of the API. */
export interface Message {
  id: string;
  text: string | null;
  data: object | null;
  sender: { username: string };
  attachments: { id: string; filename: string; file_url: string }[];
  created_at: number;
}

const MAX_FILES = 3;
const MAX_FILE_BYTES = 100_000;
const LONG_TEXT = 4000;

/** Returns a message to send. Most have text, some data, one in three has files, and some are long. */
export function newSending(
  talkers: Talkers,
  record: AckRecord,
  chance: Chance,
  { isPeers = chance() < 0.4, minBytes = 0 } = {},
): Sending {
  const conversationId = isPeers || chance() < 0.7 ? talkers.shared : talkers.notes;
  const count = minBytes > 0 ? 1 : Math.max(0, Math.ceil((chance() - 0.67) * 3 * MAX_FILES));
  const files = Array.from({ length: count }, () => ({
    filename: randomBytes(8).toString("hex"),
    bytes: randomBytes(minBytes + Math.floor(chance() ** 3 * MAX_FILE_BYTES)),
  }));
  const way = chance();
  return {
    isPeers,
    conversationId,
    key: way < 0.6 ? randomBytes(8).toString("hex") : null,
    clientId: way < 0.4 ? null : randomBytes(8).toString("hex"),
    text: files.length > 0 && chance() < 0.3 ? null : newText(chance),
    data: chance() < 0.3 ? { number: chance() } : null,
    files,
    after: record.lastIds.get(conversationId) ?? "",
  };
}

/** Returns a unique text. */
export function newText(chance: Chance): string {
  const name = randomBytes(8).toString("hex");
  return chance() < 0.05 ? name.padEnd(LONG_TEXT, " lorem 😀") : `${name}\n– ${name} 😀`;
}

/** Returns the state of a message in the record. */
export function stateOf({ text, data }: Pick<Message, "text" | "data">): string {
  return JSON.stringify([text, data]);
}

/** Returns the text or file name by which a refused message must not be found. */
export function markOf({ text, files }: Sending): string {
  return text ?? files[0]!.filename;
}

/** Sends the message. With files it is a form, with a new boundary each time. */
export function sendMessage(talkers: Talkers, sending: Sending): Promise<Answer> {
  const { isPeers, conversationId, key, clientId, text, data, files } = sending;
  const client = isPeers ? talkers.peer : talkers.client;
  const headers: Record<string, string> = key === null ? {} : { "idempotency-key": key };
  if (files.length === 0) {
    const fields = { conversation_id: conversationId, client_id: clientId, text, data };
    const body = Buffer.from(JSON.stringify(fields));
    return client.send("POST", "/v1/messages", body, { ...headers, "content-type": "application/json" });
  }
  const boundary = randomBytes(8).toString("hex");
  const part = (disposition: string, bytes: Uint8Array) => [
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`),
    bytes,
    Buffer.from("\r\n"),
  ];
  const field = (name: string, value: string) => part(`name="${name}"`, Buffer.from(value));
  const body = Buffer.concat([
    ...field("conversation_id", conversationId),
    ...(clientId === null ? [] : field("client_id", clientId)),
    ...(text === null ? [] : field("text", text)),
    ...(data === null ? [] : field("data", JSON.stringify(data))),
    ...files.flatMap(({ filename, bytes }) => part(`name="file"; filename="${filename}"`, bytes)),
    Buffer.from(`--${boundary}--\r\n`),
  ]);
  const type = `multipart/form-data; boundary=${boundary}`;
  return client.send("POST", "/v1/messages", body, { ...headers, "content-type": type });
}

/** Records a message that was answered with 201. Throws if it is another message, or out of order. */
export function noteMessage(record: AckRecord, sending: Sending, { body }: Answer): void {
  const message = JSON.parse(body.toString()) as Message;
  const { id, attachments } = message;
  const { isPeers, conversationId, files, after } = sending;
  const names = (those: readonly { filename: string }[]) => those.map(({ filename }) => filename).join();
  if (stateOf(message) !== stateOf(sending) || names(attachments) !== names(files)) {
    throw new Error(`${id} is not the message that was sent: ${body}`);
  }
  if (id <= after) throw new Error(`${id} was sent after ${after} was acknowledged`);
  if (id > (record.lastIds.get(conversationId) ?? "")) record.lastIds.set(conversationId, id);
  const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
  const sent = attachments.map((file, i) => ({
    id: file.id,
    filename: file.filename,
    sha256: sha256(files[i]!.bytes),
  }));
  record.made("messages", id, stateOf(sending), { message: { isPeers, conversationId, files: sent } });
}

/** Sends unanswered messages again. Throws if one is refused. */
export async function retrySendings(talkers: Talkers, record: AckRecord): Promise<void> {
  for (const sending of record.unansweredSendings.splice(0)) {
    const answer = await sendMessage(talkers, sending);
    const isThere = answer.status === 200 && sending.key === null;
    if (answer.status !== 201 && !isThere)
      throw new Error(`a message sent again: ${answer.status} ${answer.body}`);
    record.retried++;
    if (answer.headers["idempotent-replayed"]) record.replayed++;
    noteMessage(record, sending, answer);
  }
}
