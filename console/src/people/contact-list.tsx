// Conversations and contacts as a list box.
import type { Contact, Group } from "../../../packages/parley-client/src/index.ts";
import type { InboxEntry } from "../../../packages/parley-sync/src/index.ts";
import { toGroupFace, toSpeaker } from "../groups/texts.ts";
import { MentionMark } from "../messages/mentions.tsx";
import { isMuted } from "../messages/muted.ts";
import { useTyping } from "../messages/use-typing.ts";
import { useSession } from "../session/session.ts";
import { counted, formatTime } from "../ui/format.ts";
import { Icon } from "../ui/icons.tsx";
import { ListBox, type Listed } from "../ui/list-box.tsx";
import { type Entry, toPlace } from "./entry.ts";
import { useEntryMenu } from "./entry-menu.tsx";
import type { Face } from "./known-people.ts";
import { Avatar, toContactHint, toOneLine, usePeople } from "./people.tsx";

const ROW = 60;

export function ContactList(props: {
  label: string;
  pages: Listed<Entry>;
  openId: string;
  onOpen: (entry: Entry) => void;
}) {
  const { toItems, dialog } = useEntryMenu();
  return (
    <>
      <ListBox {...props} rowHeight={ROW} toId={toPlace} menu={toItems}>
        {(entry) => <Row entry={entry} />}
      </ListBox>
      {dialog}
    </>
  );
}

function Row({ entry }: { entry: Entry }) {
  const isConversation = "contact_id" in entry;
  const face = useFace(entry);
  return (
    <>
      <Avatar {...face} />
      <span class="contact-text">
        <span class="contact-line">
          <span class="contact-name">{face.name}</span>
          {isConversation && (
            <span class="muted small contact-marks">
              {entry.is_pinned && <StateMark icon="pin" label="Pinned" />}
              {isMuted(entry) && <StateMark icon="muted" label="Muted" />}
              {entry.last_message && formatTime(entry.last_message.created_at)}
            </span>
          )}
        </span>
        <span class="contact-line small">
          {isConversation ? <Latest conversation={entry} name={face.name} /> : <Hint entry={entry} />}
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

function useFace(entry: Entry): Face {
  const people = usePeople();
  if ("contact_id" in entry) return people.toFace(entry);
  return "history" in entry ? toGroupFace(entry) : people.toContact(entry);
}

/** Distinguishes contacts or groups of the same name. */
function Hint({ entry }: { entry: Contact | Group }) {
  const people = usePeople();
  const hint =
    "history" in entry
      ? counted(entry.member_count, "member", "members")
      : toContactHint(people.toContact(entry));
  return <span class="muted ellipsis">{hint}</span>;
}

/** The last message in one line, and the number of unread ones. */
function Latest({ conversation, name }: { conversation: InboxEntry; name: string }) {
  const { me } = useSession();
  const people = usePeople();
  const { last_message: last, unread_count: unread } = conversation;
  const typing = useTyping(conversation.id, name);
  return (
    <>
      {typing ? (
        <span class="typing ellipsis">{typing}</span>
      ) : (
        <span class={unread > 0 ? "ellipsis strong" : "muted ellipsis"}>
          {last && toSpeaker(conversation, last, me.id, people)}
          {last && <bdi>{toOneLine(last)}</bdi>}
        </span>
      )}
      {unread > 0 && conversation.group_id !== null && <MentionMark conversation={conversation} />}
      {unread > 0 && (
        <span class={isMuted(conversation) ? "unread quiet" : "unread"}>
          {unread > 99 ? "99+" : unread}
          <span class="visually-hidden"> unread</span>
        </span>
      )}
    </>
  );
}
