import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Contact } from "../../../packages/parley-client/src/index.ts";
import { visible } from "../people/known-people.ts";
import { Avatar, usePeople } from "../people/people.tsx";
import { PersonDialog } from "../people/person-dialog.tsx";
import { Presence } from "../people/presence.tsx";
import { useSession } from "../session/session.ts";
import { ConfirmDialog } from "../ui/dialog.tsx";
import { EditableName } from "../ui/editable.tsx";
import { Icon, IconButton } from "../ui/icons.tsx";
import { Menu, MenuItem } from "../ui/menu.tsx";
import { ConversationSettings } from "./conversation-settings.tsx";

/** The header of a conversation: its name, tabs and actions. */
export function Header(props: {
  onBack: () => void;
  children: ComponentChildren;
  tabs?: ComponentChildren;
  actions?: ComponentChildren;
}) {
  return (
    <header class="conversation-head">
      <span class="only-narrow">
        <IconButton icon="back" label="Back to contacts" onClick={props.onBack} />
      </span>
      {props.children}
      {props.tabs}
      {props.actions && <div class="conversation-actions">{props.actions}</div>}
    </header>
  );
}

export function NotesHeader({ onBack, tabs }: { onBack: () => void; tabs: ComponentChildren }) {
  return (
    <Header onBack={onBack} tabs={tabs}>
      <span class="avatar notes" aria-hidden="true">
        <Icon name="notes" />
      </span>
      <div class="conversation-title">
        <h1 class="name">Notes to self</h1>
        <span class="muted small ellipsis">Messages and files that only you see</span>
      </div>
    </Header>
  );
}

export function ContactHeader(props: {
  contact: Contact;
  blocked: boolean;
  onBack: () => void;
  tabs: ComponentChildren;
  onChange: (change: { blocked: boolean }) => void;
}) {
  const { contact, blocked } = props;
  const { parley, events, say, report, can } = useSession();
  const [asking, ask] = useState<"about" | "settings" | "remove">();
  const done = () => ask(undefined);
  const mayEdit = can("contacts:write");
  const people = usePeople();
  const person = people.toContact(contact);
  const { name } = person;
  const rename = async (value: string) => {
    try {
      const renamed = await events.publishResult(
        () => parley.contacts.update(contact.id, { display_name: value || null }),
        (payload) => ({ type: "contact.updated", payload }),
      );
      say(`Renamed to ${people.toContact(renamed).name}.`);
      return true;
    } catch (error) {
      report(`${name} was not renamed.`, error);
      return false;
    }
  };
  const block = async () => {
    try {
      if (blocked) await parley.contacts.unblock(contact.id);
      else await parley.contacts.block(contact.id);
      props.onChange({ blocked: !blocked });
      events.publish({ type: "contact.moved", payload: contact });
      say(blocked ? `${name} is unblocked.` : `${name} is blocked: nothing they send reaches you.`);
    } catch (error) {
      report(`${name} was not ${blocked ? "unblocked" : "blocked"}.`, error);
    }
  };
  return (
    <Header
      onBack={props.onBack}
      tabs={props.tabs}
      actions={
        (mayEdit || can("messages:read")) && (
          <Menu label="More">
            {can("messages:read") && (
              <MenuItem icon="settings" onSelect={() => ask("settings")}>
                Conversation settings
              </MenuItem>
            )}
            {mayEdit && (
              <>
                <MenuItem icon={blocked ? "check" : "block"} onSelect={block}>
                  {blocked ? "Unblock contact" : "Block contact"}
                </MenuItem>
                <MenuItem icon="trash" danger onSelect={() => ask("remove")}>
                  Delete contact
                </MenuItem>
              </>
            )}
          </Menu>
        )
      }
    >
      <Avatar {...person} />
      <div class="conversation-title">
        <EditableName
          key={contact.id}
          onOpen={() => ask("about")}
          value={visible(contact.display_name)}
          placeholder={people.toContact({ ...contact, display_name: null }).name}
          what="contact"
          readOnly={!mayEdit}
          onSave={rename}
        />
        <span class="muted small ellipsis">
          {blocked && <strong class="blocked">Blocked</strong>}
          {blocked && " · "}
          <Presence contact={contact} />
          <bdi>@{contact.username}</bdi> · <bdi>{contact.phone_number}</bdi>
        </span>
      </div>
      {asking === "about" && <PersonDialog who={contact} onClose={done} />}
      {asking === "settings" && <ConversationSettings id={contact.conversation_id} onClose={done} />}
      {asking === "remove" && <RemoveContact contact={contact} name={name} onClose={done} />}
    </Header>
  );
}

export function RemoveContact(props: { contact: Contact; name: string; onClose: () => void }) {
  const { contact, name } = props;
  const { parley, events, report, refreshMe } = useSession();
  const remove = async () => {
    try {
      await parley.contacts.delete(contact.id);
      events.publish({ type: "contact.deleted", payload: contact });
      refreshMe();
    } catch (error) {
      report(`${name} was not deleted.`, error);
    }
  };
  return (
    <ConfirmDialog
      title={`Delete ${name}?`}
      text={`This deletes your side of the conversation with ${name}: all its messages and files. ${name} keeps what they received. You can't undo this.`}
      action="Delete"
      onConfirm={remove}
      onClose={props.onClose}
    />
  );
}
