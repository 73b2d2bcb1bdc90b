// Reads from the server that take several requests.
import type { Contact, Conversation, Me, Member, Message, Page, Parley, Snapshot } from "parley-client";
import { ifAllowed } from "./failures.ts";
import { readAll } from "./platform.ts";
import { SNAPSHOT } from "./reduce.ts";

/** The messages of a page of a conversation. */
export const PAGE = 50;

export interface Reader {
  client: Parley;
  /** Adds these members to each file. */
  include: string | undefined;
  can: (scope: Me["scopes"][number]) => boolean;
  signal: AbortSignal;
}

/** Without `messages:read` there are no conversations. */
export async function readSnapshot({ client, include, signal }: Reader): Promise<Snapshot> {
  const snapshot = await ifAllowed(client.snapshot({ ...SNAPSHOT, include }, { signal }));
  if (snapshot) return snapshot;
  const last_event_id = (await ifAllowed(client.events.cursor({ signal }))) ?? null;
  const me = await client.me({ signal });
  return { me, conversations: [], has_more: false, last_event_id };
}

interface ReadConversation {
  row: Conversation;
  contact: Contact | undefined;
  page: Page<Message> | undefined;
  members: Member[] | undefined;
}

/** Reads a conversation, with its newest messages and its members if `isWhole`. */
export async function readConversation(
  { client, include, can, signal }: Reader,
  id: string,
  isWhole: boolean,
): Promise<ReadConversation> {
  const row = await client.conversations.retrieve(id, { signal });
  const { contact_id, group_id } = row;
  return {
    row,
    contact:
      contact_id !== null && can("contacts:read")
        ? await client.contacts.retrieve(contact_id, { signal })
        : undefined,
    page: isWhole
      ? await client.messages.list({ conversation_id: id, limit: PAGE, include }, { signal })
      : undefined,
    members:
      isWhole && group_id !== null && can("groups:read")
        ? await readAll(client.groups.listMembers(group_id, {}, { signal }))
        : undefined,
  };
}
