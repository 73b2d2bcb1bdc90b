// Conversations and contacts as a list box.
import type { Contact, Conversation, Group } from "../../../client/src/index.ts";
import { toSpeaker } from "../groups/texts.ts";
import { isMuted } from "../messages/conversations.ts";
import { useTyping } from "../messages/use-typing.ts";
import { useSession } from "../session/session.ts";
import { counted, formatTime } from "../ui/format.ts";
import { Icon } from "../ui/icons.tsx";
import { ListBox } from "../ui/list-box.tsx";
import type { Pages } from "../ui/use-pages.ts";
import { Avatar, toContactHint, toName, toOneLine, visible } from "./people.tsx";

const ROW = 60;

/** A conversation, or a contact or group that was searched for or has no conversation. */
export type Entry = Contact | Conversation | Group;

/** Returns the id of an entry's contact or group. */
export function toPlace(entry: Entry): string {
  return "contact_id" in entry ? (entry.contact_id ?? entry.group_id!) : entry.id;
}

export function ContactList(props: {
  label: string;
  pages: Pick<Pages<Entry>, "items" | "hasMore" | "loading" | "more">;
  openId: string;
  onOpen: (entry: Entry) => void;
}) {
  return (
    <ListBox {...props} rowHeight={ROW} toId={toPlace}>
      {(entry) => <Row entry={entry} />}
    </ListBox>
  );
}

function Row({ entry }: { entry: Entry }) {
  const isConversation = "contact_id" in entry;
  const name = toEntryName(entry);
  const groupId = isConversation ? entry.group_id : "history" in entry ? entry.id : null;
  return (
    <>
      <Avatar name={name} seed={toPlace(entry)} isGroup={groupId !== null} />
      <span class="contact-text">
        <span class="contact-line">
          <span class="contact-name">{name}</span>
          {isConversation && (
            <span class="muted small contact-marks">
              {entry.is_pinned && <StateMark icon="pin" label="Pinned" />}
              {isMuted(entry) && <StateMark icon="muted" label="Muted" />}
              {entry.last_message && formatTime(entry.last_message.created_at)}
            </span>
          )}
        </span>
        <span class="contact-line small">
          {isConversation ? (
            <Latest conversation={entry} />
          ) : (
            <span class="muted ellipsis">{toHint(entry)}</span>
          )}
        </span>
      </span>
    </>
  );
}

function StateMark({ icon, label }: { icon: "pin" | "muted"; label: string }) {
  return (
    <span title={label}>
      <Icon name={icon} />
      <span class="visually-hidden">{label}</span>
    </span>
  );
}

function toEntryName(entry: Entry): string {
  return "name" in entry ? visible(entry.name) || "No name" : toName(entry);
}

/** Returns what distinguishes contacts or groups of the same name. */
function toHint(contact: Contact | Group): string {
  if ("history" in contact) return counted(contact.member_count, "member", "members");
  return toContactHint(contact);
}

/** The last message in one line, and the number of unread ones. */
function Latest({ conversation }: { conversation: Conversation }) {
  const { me } = useSession();
  const { last_message: last, unread_count: unread } = conversation;
  const typing = useTyping(conversation.id, toEntryName(conversation));
  return (
    <>
      {typing ? (
        <span class="typing ellipsis">{typing}</span>
      ) : (
        <span class={unread > 0 ? "ellipsis strong" : "muted ellipsis"}>
          {last && `${toSpeaker(conversation, last, me.id)}${toOneLine(last)}`}
        </span>
      )}
      {unread > 0 && (
        <span class={isMuted(conversation) ? "unread quiet" : "unread"}>
          {unread > 99 ? "99+" : unread}
          <span class="visually-hidden"> unread</span>
        </span>
      )}
    </>
  );
}
