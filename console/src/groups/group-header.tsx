import { useState } from "preact/hooks";
import type { Group } from "../../../client/src/index.ts";
import { Header } from "../conversation-header.tsx";
import { ConversationSettings } from "../conversation-settings.tsx";
import { ConfirmDialog } from "../dialog.tsx";
import { counted } from "../format.ts";
import { Icon, IconButton } from "../icons.tsx";
import { Avatar } from "../people.tsx";
import { leaveForGood } from "../place.ts";
import { useSession } from "../session.ts";
import { EditGroup } from "./edit-group.tsx";
import { Members } from "./members.tsx";

export function GroupHeader({ group, onBack }: { group: Group; onBack: () => void }) {
  const [isEditing, setEditing] = useState(false);
  const [isListing, setListing] = useState(false);
  const [isLeaving, setLeaving] = useState(false);
  return (
    <Header onBack={onBack}>
      <Avatar name={group.name} seed={group.id} isGroup />
      <div class="conversation-title">
        <span class="editable">
          <h1 class="name" title={group.name}>
            {group.name}
          </h1>
          {group.role === "admin" && (
            <IconButton icon="edit" label={`Edit ${group.name}`} onClick={() => setEditing(true)} />
          )}
        </span>
        <span class="muted small ellipsis">
          {counted(group.member_count, "member", "members")}
          {group.description !== null && ` · ${group.description}`}
        </span>
      </div>
      <div class="conversation-actions">
        <ConversationSettings id={group.conversation_id!} />
        <button
          type="button"
          class="button"
          aria-label={`Members of ${group.name}`}
          onClick={() => setListing(true)}
        >
          <Icon name="people" />
          <span class="only-wide">Members</span>
        </button>
        <IconButton icon="signOut" label={`Leave ${group.name}`} danger onClick={() => setLeaving(true)} />
      </div>
      {isEditing && <EditGroup group={group} onClose={() => setEditing(false)} />}
      {isListing && <Members group={group} onClose={() => setListing(false)} />}
      {isLeaving && <Leave group={group} onClose={() => setLeaving(false)} />}
    </Header>
  );
}

function Leave({ group, onClose }: { group: Group; onClose: () => void }) {
  const { parley, events, say, report, refreshMe } = useSession();
  const { id, name, conversation_id } = group;
  const leave = async () => {
    try {
      await parley.groups.leave(id);
      leaveForGood();
      events.publish({ type: "group.deleted", payload: { id, conversation_id } });
      say(`You left ${name}.`);
      refreshMe();
    } catch (error) {
      report(`You could not leave ${name}.`, error);
    }
  };
  const text =
    group.member_count > 1
      ? "You lose its messages and files; the others keep them. To come back you need an invitation, and you won't see what was sent before."
      : "You are the last member: this deletes the group with all its messages and files. You can't undo this.";
  return (
    <ConfirmDialog title={`Leave ${name}?`} text={text} action="Leave" onConfirm={leave} onClose={onClose} />
  );
}
