// Sends messages like an ordinary client.
import {
  call,
  form,
  json,
  type Message,
  me,
  message,
  newContact,
  type Options,
  type Reply,
} from "./client.ts";

export const PATH = "/v1/messages";

/** Sends a message as JSON, by default in the first user's notes to self. */
export async function send(fields: Record<string, unknown>, options: Options = {}): Promise<Reply> {
  const { headers, ...rest } = options;
  const conversation = fields.conversation_id ?? (await me(options.token ?? undefined)).conversation_id;
  const sent = json({ conversation_id: conversation, ...fields });
  return call("POST", PATH, { ...sent, ...rest, headers: { ...sent.headers, ...headers } });
}

/** Sends a message as a form. */
export async function sendForm(fields: [name: string, value: string][]): Promise<Reply> {
  const { conversation_id } = await me();
  const all: [string, string][] = [["conversation_id", conversation_id], ...fields];
  return call("POST", PATH, form(new URLSearchParams(all).toString()));
}

export async function newMessage(
  fields: Record<string, unknown> = {},
  options: Options = {},
): Promise<Message> {
  return message(await send({ text: "hello", ...fields }, options), 201);
}

/** A text is a field, a file is a part `file`, in this order. */
export type Piece = [name: string, value: string] | File;

export function parts(...pieces: Piece[]): FormData {
  const body = new FormData();
  for (const piece of pieces) {
    if (piece instanceof File) body.append("file", piece);
    else body.append(...piece);
  }
  return body;
}

export function post(body: FormData, options: Options = {}): Promise<Reply> {
  return call("POST", PATH, { ...options, body });
}

/** Returns a conversation of the first user with nobody else in it. */
export async function freshConversation(): Promise<string> {
  return (await newContact()).conversation_id;
}
