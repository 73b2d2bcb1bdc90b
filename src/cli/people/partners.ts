import { type Parley, ParleyApiError } from "../../../packages/parley-client/src/index.ts";
import { OperatorError } from "../../errors.ts";
import type { Io } from "../io.ts";
import { findContact } from "./contacts.ts";
import { findGroup, isGroupId, isJoined } from "./groups.ts";

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
