import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Contact } from "../../../packages/parley-client/src/index.ts";
import { openPlace } from "../place.ts";
import { useSession } from "../session/session.ts";
import { Dialog } from "../ui/dialog.tsx";
import { AddContact } from "./add-contact.tsx";
import { type NamedUser, toKey } from "./known-people.ts";
import { Avatar, usePeople } from "./people.tsx";

/** Says who somebody is, and leads to the conversation with them. */
export function PersonDialog(props: {
  /** A contact, from the conversation with them, or another user. */
  who: Contact | NamedUser;
  /** Their role in the group. */
  role?: string;
  /** More about them. */
  children?: ComponentChildren;
  onClose: () => void;
}) {
  const { who, role, onClose } = props;
  const { me, can, events } = useSession();
  const people = usePeople();
  const here = "phone_number" in who ? who : undefined;
  const person = here ? people.toContact(here) : people.toPerson(who);
  const { name, username, contact, isBot } = person;
  const [isAdding, setAdding] = useState(false);
  const isMe = username !== undefined && toKey(username) === toKey(me.username);
  const open = (id: string) => {
    onClose();
    openPlace(id);
  };
  if (isAdding) {
    return (
      <AddContact
        suggestion={username ?? ""}
        onClose={onClose}
        onExisting={openPlace}
        onAdded={(payload) => {
          events.publish({ type: "contact.created", payload });
          openPlace(payload.id);
        }}
      />
    );
  }
  return (
    <Dialog title={`About ${name}`} onClose={onClose}>
      <div class="person">
        <Avatar {...person} size="large" />
        <strong class="person-name">{isMe ? `${name} (you)` : name}</strong>
        {username !== undefined && <span class="muted small">@{username}</span>}
        {here && <span class="muted small">{here.phone_number}</span>}
        <span class="person-marks small">
          {isBot && <span class="badge">Bot</span>}
          {role && <span class="badge">{role}</span>}
          {contact && <span class="badge">Contact</span>}
        </span>
        {props.children}
        {contact && !here && (
          <button type="button" class="button primary" onClick={() => open(contact.id)}>
            Open the conversation
          </button>
        )}
        {!contact && !isMe && username !== undefined && can("contacts:write") && can("contacts:read") && (
          <button type="button" class="button primary" onClick={() => setAdding(true)}>
            Add as a contact
          </button>
        )}
      </div>
    </Dialog>
  );
}
