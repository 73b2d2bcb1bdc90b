import type { Contact, Conversation, Me, Member, Message, Parley } from "parley-client";

/** The newest conversations of the caller, with what is needed to show them. */
export interface SnapshotAnswer {
  me: Me;
  conversations: (Conversation & { messages: Message[]; members?: Member[]; contact?: Contact })[];
  last_event_id: string;
  has_more: boolean;
  messagesPerConversation: number;
}

const CONVERSATIONS = 20;
const MESSAGES = 20;

/** Reads the newest conversations and, before them, the cursor after which events complete the picture. */
export async function takeSnapshot(client: Parley, signal: AbortSignal): Promise<SnapshotAnswer> {
  const options = { signal };
  const last_event_id = await client.events.cursor(options);
  const me = await client.me(options);
  const { data, has_more } = await client.conversations.list({ limit: CONVERSATIONS }, options);
  const conversations = await Promise.all(
    data.map(async (row) => {
      const page = await client.messages.list({ conversation_id: row.id, limit: MESSAGES }, options);
      const contact = row.contact_id && (await client.contacts.retrieve(row.contact_id, options));
      const members =
        row.group_id && (await Array.fromAsync(client.groups.listMembers(row.group_id, {}, options)));
      return { ...row, messages: page.data, ...(contact && { contact }), ...(members && { members }) };
    }),
  );
  return { me, conversations, last_event_id, has_more, messagesPerConversation: MESSAGES };
}
