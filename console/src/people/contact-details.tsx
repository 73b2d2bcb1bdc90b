import type { Contact } from "../../../packages/parley-client/src/index.ts";
import { SettingsFields } from "../messages/conversation-settings.tsx";
import { formatDate } from "../ui/format.ts";
import { Avatar, usePeople } from "./people.tsx";

/** The details that a wide window shows beside the conversation with a contact. */
export function ContactDetails({ contact }: { contact: Contact }) {
  const person = usePeople().toContact(contact);
  const { name } = person;
  return (
    <aside class="details" aria-label={`About ${name}`}>
      <div class="details-head">
        <Avatar {...person} size="large" />
        <strong>{name}</strong>
        <span class="muted small">@{contact.username}</span>
      </div>
      <section class="details-part">
        <h2>Contact</h2>
        <dl class="facts">
          <dt>Phone</dt>
          <dd>{contact.phone_number}</dd>
          <dt>Added</dt>
          <dd>{formatDate(contact.created_at)}</dd>
        </dl>
      </section>
      <section class="details-part">
        <h2>Settings</h2>
        <SettingsFields id={contact.conversation_id} />
      </section>
    </aside>
  );
}
