// Conversations and contacts as a list box.
import type { Contact, Group } from "../../../packages/parley-client/src/index.ts";
import type { InboxEntry } from "../../../packages/parley-sync/src/index.ts";
import { hasFiles, readFiles } from "../files/drop.ts";
import { toGroupFace, toSpeaker } from "../groups/texts.ts";
import { useAddFiles } from "../messages/draft-files.tsx";
import { isMuted } from "../messages/muted.ts";
import { useTyping } from "../messages/use-typing.ts";
import { openPlace } from "../place.ts";
import { useSession } from "../session/session.ts";
import { counted, formatTime } from "../ui/format.ts";
import { Icon } from "../ui/icons.tsx";
import { ListBox, type Listed } from "../ui/list-box.tsx";
import { useWatched } from "../ui/use-redraw.ts";
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
  const onDrag = useRowDrop();
  return (
    <>
      <ListBox {...props} rowHeight={ROW} toId={toPlace} menu={toItems} onDrag={onDrag}>
        {(entry) => <Row entry={entry} isOpen={toPlace(entry) === props.openId} />}
      </ListBox>
      {dialog}
    </>
  );
}

/** Returns a listener that adds files dropped on an entry to its draft, and opens the conversation. */
function useRowDrop() {
  const { can, say } = useSession();
  const add = useAddFiles();
  return (event: DragEvent, entry: Entry) => {
    const id = "contact_id" in entry ? entry.id : entry.conversation_id;
    if (!hasFiles(event) || id === null || !can("messages:write")) return;
    event.preventDefault();
    event.dataTransfer!.dropEffect = "copy";
    if (event.type !== "drop") return;
    const { files, folders } = readFiles(event.dataTransfer!);
    add(id, files);
    if (folders) say("Folders cannot be uploaded. Drop the files in them instead.");
    openPlace(toPlace(entry));
  };
}

function Row({ entry, isOpen }: { entry: Entry; isOpen: boolean }) {
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
          {isConversation ? (
            <Latest conversation={entry} name={face.name} isOpen={isOpen} />
          ) : (
            <Hint entry={entry} />
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

/** Returns the draft of a conversation in one line. */
function useDraftText(conversationId: string): string {
  const { drafts } = useSession();
  useWatched(drafts);
  const { text, files } = drafts.get(conversationId);
  return text.trim() || files.map(({ name }) => name).join(", ");
}

/** The last message in one line, and the number of unread ones. */
function Latest(props: { conversation: InboxEntry; name: string; isOpen: boolean }) {
  const { conversation, name } = props;
  const draft = useDraftText(conversation.id);
  const { me } = useSession();
  const people = usePeople();
  const { last_message: last, unread_count: unread } = conversation;
  const typing = useTyping(conversation.id, name);
  return (
    <>
      {typing ? (
        <span class="typing ellipsis">{typing}</span>
      ) : draft !== "" && !props.isOpen ? (
        <span class="muted ellipsis">
          <strong class="draft">Draft:</strong> <bdi>{draft}</bdi>
        </span>
      ) : (
        <span class={unread > 0 ? "ellipsis strong" : "muted ellipsis"}>
          {last && toSpeaker(conversation, last, me.id, people)}
          {last && <bdi>{toOneLine(last)}</bdi>}
        </span>
      )}
      {conversation.unread_mention_count > 0 && conversation.group_id !== null && (
        <span class="unread" title="Mentions you">
          @<span class="visually-hidden"> mentions you</span>
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
