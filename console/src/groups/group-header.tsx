import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Group } from "../../../packages/parley-client/src/index.ts";
import { Header } from "../messages/conversation-header.tsx";
import { ConversationSettings } from "../messages/conversation-settings.tsx";
import { Avatar } from "../people/people.tsx";
import { leaveForGood } from "../place.ts";
import { useSession } from "../session/session.ts";
import { ConfirmDialog } from "../ui/dialog.tsx";
import { OpeningHeading } from "../ui/editable.tsx";
import { counted } from "../ui/format.ts";
import { IconButton } from "../ui/icons.tsx";
import { Menu, MenuItem } from "../ui/menu.tsx";
import { EditGroup } from "./edit-group.tsx";
import { Members } from "./members.tsx";
import { toGroupFace } from "./texts.ts";

export function GroupHeader(props: { group: Group; onBack: () => void; tabs: ComponentChildren }) {
  const { group } = props;
  const { can } = useSession();
  const mayEdit = can("groups:write");
  const [asking, ask] = useState<"edit" | "members" | "settings" | "leave">();
  const done = () => ask(undefined);
  return (
    <Header
      onBack={props.onBack}
      tabs={props.tabs}
      actions={
        <>
          <IconButton icon="people" label={`Members of ${group.name}`} onClick={() => ask("members")} />
          {(mayEdit || can("messages:read")) && (
            <Menu label="More">
              {can("messages:read") && (
                <MenuItem icon="settings" onSelect={() => ask("settings")}>
                  Conversation settings
                </MenuItem>
              )}
              {mayEdit && (
                <MenuItem icon="signOut" danger onSelect={() => ask("leave")}>
                  Leave group
                </MenuItem>
              )}
            </Menu>
          )}
        </>
      }
    >
      <Avatar {...toGroupFace(group)} />
      <div class="conversation-title">
        <span class="editable">
          <OpeningHeading name={group.name} onOpen={() => ask("members")} />
          {group.role === "admin" && mayEdit && (
            <IconButton icon="edit" label={`Edit ${group.name}`} onClick={() => ask("edit")} />
          )}
        </span>
        <span class="muted small ellipsis">
          {counted(group.member_count, "member", "members")}
          {group.description !== null && ` · ${group.description}`}
        </span>
      </div>
      {asking === "settings" && <ConversationSettings id={group.conversation_id!} onClose={done} />}
      {asking === "edit" && <EditGroup group={group} onClose={done} />}
      {asking === "members" && <Members group={group} onClose={done} />}
      {asking === "leave" && <Leave group={group} onClose={done} />}
    </Header>
  );
}

export function Leave({ group, onClose }: { group: Group; onClose: () => void }) {
  const { parley, events, say, report, refreshMe } = useSession();
  const { id, name, conversation_id } = group;
  const leave = async () => {
    try {
      await parley.groups.leave(id);
      if (location.hash === `#${id}`) leaveForGood();
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
