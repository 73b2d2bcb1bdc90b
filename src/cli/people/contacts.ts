import { type Contact, type Parley, ParleyApiError } from "../../../packages/parley-client/src/index.ts";
import { OperatorError } from "../../errors.ts";
import { usernameKey } from "../../util/text.ts";
import type { Io } from "../io.ts";
import { harmless, isoTime, jsonLine } from "../text.ts";
import { asPerson } from "./access.ts";
import { type Column, type JsonOption, type ListOptions, pageSize, printList } from "./listing.ts";

const COLUMNS: readonly Column<Contact>[] = [
  ["ID", ({ id }) => id],
  ["USERNAME", ({ username }) => username],
  ["NAME", ({ display_name }) => display_name ?? ""],
  ["PHONE", ({ phone_number }) => phone_number],
  ["LAST ACTIVE", ({ last_active_at }) => (last_active_at === null ? "" : isoTime(last_active_at))],
];

/** Lists contacts; with `text`, only the matching ones. */
export function listContacts(
  io: Io,
  text: string | undefined,
  options: ListOptions & { blocked?: boolean },
): Promise<number> {
  const query = { limit: pageSize(options), q: text, active: options.blocked ? false : undefined };
  const isNarrow = text !== undefined || options.blocked;
  const empty = isNarrow
    ? "No contacts found."
    : "You have no contacts. Add one: parley contacts add NAME PHONE";
  return asPerson(io, async (parley) => {
    await printList(io, parley.contacts.list(query, { signal: io.stop }), COLUMNS, options, empty);
    return 0;
  });
}

export function addContact(
  io: Io,
  username: string,
  phone: string,
  options: JsonOption & { name?: string; avatar?: string },
): Promise<number> {
  const fields = { username, phone_number: phone, display_name: options.name, avatar_url: options.avatar };
  return asPerson(io, async (parley) => {
    const contact = await parley.contacts.create(fields, { signal: io.stop });
    io.print(options.json ? jsonLine(contact) : harmless(`${contact.id}  ${contact.username}`));
    return 0;
  });
}

/** Gives two users each other as contacts, unless they have, with a token that has the scope `act_as`. */
export function connectUsers(io: Io, user: string, other: string, options: JsonOption): Promise<number> {
  if (usernameKey(user) === usernameKey(other)) throw new OperatorError("Name two different users.");
  return asPerson(io, async (parley) => {
    const contact = await connect(parley.as(`username:${user}`), user, other, { signal: io.stop });
    if (options.json) io.print(jsonLine(contact));
    else io.warn(harmless(`${user} and ${contact.username} have each other as contacts.`));
    return 0;
  });
}

/** Returns the contact by which the user has the other. Throws `user_not_found` with the name. */
async function connect(
  { contacts }: Parley,
  user: string,
  other: string,
  options: { signal: AbortSignal },
): Promise<Contact> {
  try {
    return await contacts.create({ username: other, mutual: true }, options);
  } catch (error) {
    if (!(error instanceof ParleyApiError)) throw error;
    const { code, status, param, members } = error;
    if (code === "contact_exists") return contacts.retrieve(String(members.existing_id), options);
    if (code !== "user_not_found") throw error;
    const detail = `No user is named ${JSON.stringify(param === "username" ? other : user)}.`;
    throw new ParleyApiError({ code, status, detail });
  }
}

export function renameContact(io: Io, who: string, name: string, options: JsonOption): Promise<number> {
  return change(io, who, options, async (parley, contact) => {
    const { display_name } = await parley.contacts.update(
      contact.id,
      { display_name: name },
      { signal: io.stop },
    );
    return [
      { ...contact, display_name },
      display_name === null ? "no longer has a name" : `is now called ${display_name}`,
    ];
  });
}

export function removeContact(io: Io, who: string, options: JsonOption): Promise<number> {
  return change(io, who, options, async (parley, contact) => {
    await parley.contacts.delete(contact.id, { signal: io.stop });
    return [contact, "was removed"];
  });
}

export function blockContact(io: Io, who: string, options: JsonOption): Promise<number> {
  return change(io, who, options, async (parley, contact) => {
    await parley.contacts.block(contact.id, { signal: io.stop });
    return [contact, "is blocked"];
  });
}

export function unblockContact(io: Io, who: string, options: JsonOption): Promise<number> {
  return change(io, who, options, async (parley, contact) => {
    await parley.contacts.unblock(contact.id, { signal: io.stop });
    return [contact, "is no longer blocked"];
  });
}

/** Changes a contact and reports the result. */
function change(
  io: Io,
  who: string,
  { json }: JsonOption,
  work: (parley: Parley, contact: Contact) => Promise<[contact: Contact, result: string]>,
): Promise<number> {
  return asPerson(io, async (parley) => {
    const [contact, result] = await work(parley, await getContact(io, parley, who));
    if (json) io.print(jsonLine(contact));
    else io.warn(harmless(`${contact.username} ${result}.`));
    return 0;
  });
}

/** Returns the contact with this id or username. Throws `contact_not_found` if there is none. */
async function getContact(io: Io, parley: Parley, who: string): Promise<Contact> {
  const contact = await findContact(io, parley, who);
  if (contact) return contact;
  // The same code as for an unknown id, so that both get the same advice.
  const detail = `You have no contact called ${JSON.stringify(who)}.`;
  throw new ParleyApiError({ code: "contact_not_found", status: 404, detail });
}

/** Finds the contact with this username, or returns the one with this id. Throws `contact_not_found` for an unknown id. */
export async function findContact(io: Io, parley: Parley, who: string): Promise<Contact | undefined> {
  const options = { signal: io.stop };
  if (/^con_[0-9a-z]{26}$/.test(who)) return parley.contacts.retrieve(who, options);
  return (await parley.contacts.list({ username: who, limit: 1 }, options)).data[0];
}
