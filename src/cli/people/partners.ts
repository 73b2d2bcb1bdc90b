import { type Parley, ParleyApiError } from "../../../packages/parley-client/src/index.ts";
import type { Sync } from "../../../packages/parley-sync/src/index.ts";
import { OperatorError } from "../../errors.ts";
import type { Io } from "../io.ts";
import { isRefusal } from "./access.ts";
import { findContact } from "./contacts.ts";
import { findGroup, isCalled, isGroupId, isJoined } from "./groups.ts";

/**
 * Returns the id of a conversation, given its id, a contact's id or username, or a group's id or name. A contact
 * takes precedence over a group. Throws `contact_not_found` if nothing matches.
 */
export async function getConversationId(io: Io, parley: Parley, who: string): Promise<string> {
  if (/^cnv_[0-9a-z]{26}$/.test(who)) return who;
  const contact = isGroupId(who) ? undefined : await findContact(io, parley, who);
  if (contact) return contact.conversation_id;
  const group = await findGroup(io, parley, who, isJoined);
  if (!group) {
    const detail = `You have no contact or group called ${JSON.stringify(who)}. List your groups: parley groups list.`;
    throw new ParleyApiError({ code: "contact_not_found", status: 404, detail });
  }
  if (group.conversation_id === null)
    throw new OperatorError(
      `You are invited to ${group.name}, but not a member. Join: parley groups join ${group.id}`,
    );
  return group.conversation_id;
}

interface Ways {
  parley: Parley;
  /** Fails at once if the server can't be reached. */
  client: Parley;
  sync: Sync;
}

/**
 * Returns the id of a conversation as `getConversationId` does, by the local copy if it has the contact or the id. The name of a
 * group may be another group's by now, so the copy decides only if the server can't be reached.
 */
export async function findConversationId(
  io: Io,
  { parley, client, sync }: Ways,
  who: string,
): Promise<string> {
  const contacts = sync.contacts().getSnapshot().items;
  const contact = contacts.find(({ id, username }) => id === who || isCalled(username, who));
  if (contact) return contact.conversation_id;
  const groups = sync
    .inbox()
    .getSnapshot()
    .items.filter(({ group_id }) => group_id !== null);
  const group = groups.find(({ group_id }) => group_id === who);
  if (group) return group.id;
  const named = groups.filter(({ name }) => isCalled(name, who));
  if (named.length !== 1) return getConversationId(io, parley, who);
  return getConversationId(io, client, who).catch((error) => {
    if (!(error instanceof ParleyApiError) || isRefusal(error)) throw error;
    return named[0]!.id;
  });
}
