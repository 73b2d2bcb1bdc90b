// The two users of a test as contacts of each other, or as strangers.
import assert from "node:assert/strict";
import { type Contact, call, contacts, me, newContact } from "./client.ts";
import { second, target } from "./target.ts";

export const theirs = () => ({ token: second() });

/** Adds the user of the other token as a contact. */
export async function add(
  token: string,
  other: string,
  fields: Record<string, string> = {},
): Promise<Contact> {
  const { username } = await me(other);
  return newContact({ username, ...fields }, token);
}

/** Deletes contacts and blocks between the two users, so that they are strangers. */
export async function part(): Promise<void> {
  for (const [token, other] of [
    [target.token, second()],
    [second(), target.token],
  ] as const) {
    const { username } = await me(other);
    const query = new URLSearchParams({ username });
    for (const { id } of contacts(await call("GET", `/v1/contacts?${query}`, { token })).data)
      await call("DELETE", `/v1/contacts/${id}`, { token });
    await call("DELETE", `/v1/blocks/${encodeURIComponent(username)}`, { token });
  }
}

/** Makes the two users contacts of each other, with an empty conversation. */
export async function pair(): Promise<string> {
  await part();
  const { conversation_id } = await add(target.token, second());
  assert.equal((await add(second(), target.token)).conversation_id, conversation_id);
  return conversation_id;
}
