// The context menu of an entry of the list, and the dialogs that it opens.
import { useState } from "preact/hooks";
import type { ConversationSettings as Settings } from "../../../packages/parley-client/src/index.ts";
import type { InboxEntry } from "../../../packages/parley-sync/src/index.ts";
import { Leave } from "../groups/group-header.tsx";
import { RemoveContact } from "../messages/conversation-header.tsx";
import { ConversationSettings } from "../messages/conversation-settings.tsx";
import { isMuted } from "../messages/muted.ts";
import { useSession } from "../session/session.ts";
import { MenuItem } from "../ui/menu.tsx";
import type { Entry } from "./entry.ts";

interface Question {
  kind: "settings" | "remove" | "leave";
  entry: Entry;
}

/** Returns a function that makes the items of an entry, and the dialog that one of them has opened. */
export function useEntryMenu() {
  const [asking, ask] = useState<Question>();
  const toItems = (entry: Entry) => <EntryItems entry={entry} ask={(kind) => ask({ kind, entry })} />;
  const dialog = asking && <EntryDialog {...asking} onClose={() => ask(undefined)} />;
  return { toItems, dialog };
}

/** Returns the conversation, the contact and the group of an entry, as far as it has them. */
function useParts(entry: Entry) {
  const { sync, groups } = useSession();
  if (!("contact_id" in entry)) {
    const isGroup = "history" in entry;
    return {
      id: entry.conversation_id,
      contact: isGroup ? undefined : entry,
      group: isGroup ? entry : undefined,
    };
  }
  return {
    id: entry.id,
    conversation: entry,
    contact: sync.conversation(entry.id).getSnapshot().contact,
    group: groups.state.all.find(({ id }) => id === entry.group_id),
  };
}

function EntryItems({ entry, ask }: { entry: Entry; ask: (kind: Question["kind"]) => void }) {
  const { can } = useSession();
  const { id, conversation, contact, group } = useParts(entry);
  return (
    <>
      {conversation && can("messages:write") && <ConversationItems conversation={conversation} />}
      {id !== null && can("messages:read") && (
        <MenuItem icon="settings" onSelect={() => ask("settings")}>
          Conversation settings
        </MenuItem>
      )}
      {contact && can("contacts:write") && (
        <MenuItem icon="trash" danger onSelect={() => ask("remove")}>
          Delete contact
        </MenuItem>
      )}
      {group && group.role !== "invited" && can("groups:write") && (
        <MenuItem icon="signOut" danger onSelect={() => ask("leave")}>
          Leave group
        </MenuItem>
      )}
    </>
  );
}

function ConversationItems({ conversation }: { conversation: InboxEntry }) {
  const { sync, parley, report } = useSession();
  const { id, is_pinned, is_archived, unread_count, last_message } = conversation;
  const change = async (settings: Settings) => {
    try {
      await parley.conversations.update(id, settings);
    } catch (error) {
      report("The setting was not changed.", error);
    }
  };
  return (
    <>
      {unread_count > 0 && last_message && (
        <MenuItem icon="checks" onSelect={() => sync.read(id, last_message.id)}>
          Mark as read
        </MenuItem>
      )}
      <MenuItem icon="pin" onSelect={() => change({ is_pinned: !is_pinned })}>
        {is_pinned ? "Unpin" : "Pin"}
      </MenuItem>
      {isMuted(conversation) && (
        <MenuItem icon="bell" onSelect={() => change({ muted_until: null })}>
          Unmute
        </MenuItem>
      )}
      <MenuItem icon="archive" onSelect={() => change({ is_archived: !is_archived })}>
        {is_archived ? "Unarchive" : "Archive"}
      </MenuItem>
    </>
  );
}

function EntryDialog({ kind, entry, onClose }: Question & { onClose: () => void }) {
  const { people } = useSession();
  const { id, contact, group } = useParts(entry);
  if (kind === "settings") return <ConversationSettings id={id!} onClose={onClose} />;
  if (contact)
    return <RemoveContact contact={contact} name={people.toContact(contact).name} onClose={onClose} />;
  return group ? <Leave group={group} onClose={onClose} /> : null;
}
