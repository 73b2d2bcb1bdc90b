// Conversations and contacts as a list box that renders only the rows in view, so that 100,000 scroll as fast as ten.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Contact, Conversation, Group } from "../../client/src/index.ts";
import { isMuted } from "./conversations.ts";
import { counted, formatTime } from "./format.ts";
import { toUserName } from "./groups/texts.ts";
import { Icon } from "./icons.tsx";
import { Avatar, toName, toPreview, visible } from "./people.tsx";
import { useSession } from "./session.ts";
import type { Pages } from "./use-pages.ts";

/** The height of a row, as in the style sheet. */
const ROW = 60;
/** Extra rows beyond the edges, so that no gap shows while scrolling. */
const SPARE = 8;
/** How many rows before the end the next page is requested. */
const AHEAD = 60;

/** A conversation with a contact or in a group, or a contact or a group that was searched or has none. */
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
  const { pages, openId, onOpen } = props;
  const { items } = pages;
  const box = useRef<HTMLDivElement>(null);
  const { first, count } = useWindow(box);
  // Rows move when messages arrive, and the active one must not become another contact.
  const [active, setActive] = useState({ id: "", at: 0 });
  const found = useMemo(() => items.findIndex((each) => toPlace(each) === active.id), [items, active.id]);
  const at = found >= 0 ? found : Math.min(active.at, items.length - 1);
  const start = Math.max(0, Math.min(first, items.length - 1) - SPARE);
  const end = Math.min(items.length, first + count + SPARE);
  useEffect(() => {
    if (first + count + AHEAD > items.length) pages.more();
  });
  const move = (to: number) => {
    const next = Math.max(0, Math.min(items.length - 1, to));
    setActive({ id: toPlace(items[next]!), at: next });
    reveal(box.current!, next);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, number> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + count - 1,
      PageUp: at - count + 1,
      Home: 0,
      End: items.length - 1,
    };
    const to = steps[event.key];
    if (to !== undefined) move(to);
    else if ((event.key === "Enter" || event.key === " ") && items[at]) onOpen(items[at]);
    else return;
    event.preventDefault();
  };
  return (
    <div
      ref={box}
      class="contact-list"
      role="listbox"
      tabIndex={0}
      aria-label={props.label}
      aria-busy={pages.loading}
      aria-activedescendant={items[at] && at >= start && at < end ? toPlace(items[at]) : undefined}
      onKeyDown={onKeyDown}
    >
      <div class="contact-rows" role="presentation" style={{ height: `${items.length * ROW}px` }}>
        {items.slice(start, end).map((entry, offset) => (
          <Row
            key={toPlace(entry)}
            entry={entry}
            at={start + offset}
            total={pages.hasMore ? -1 : items.length}
            open={toPlace(entry) === openId}
            active={start + offset === at}
            onOpen={() => {
              setActive({ id: toPlace(entry), at: start + offset });
              onOpen(entry);
            }}
          />
        ))}
      </div>
    </div>
  );
}

function Row(props: {
  entry: Entry;
  at: number;
  total: number;
  open: boolean;
  active: boolean;
  onOpen: () => void;
}) {
  const { entry, at } = props;
  const isConversation = "contact_id" in entry;
  const name = toEntryName(entry);
  const groupId = isConversation ? entry.group_id : "history" in entry ? entry.id : null;
  return (
    <div
      id={toPlace(entry)}
      class={props.active ? "contact-row active" : "contact-row"}
      role="option"
      aria-selected={props.open}
      aria-posinset={at + 1}
      aria-setsize={props.total}
      style={{ transform: `translateY(${at * ROW}px)` }}
      onClick={props.onOpen}
    >
      <Avatar name={name} seed={groupId ?? undefined} isGroup={groupId !== null} />
      <span class="contact-text">
        <span class="contact-line">
          <span class="contact-name">{name}</span>
          {isConversation && (
            <span class="muted small contact-marks">
              {entry.is_pinned && <Mark icon="pin" label="Pinned" />}
              {isMuted(entry) && <Mark icon="muted" label="Muted" />}
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
    </div>
  );
}

function Mark({ icon, label }: { icon: "pin" | "muted"; label: string }) {
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

/** Returns what tells a contact or group from others of the same name. */
function toHint(contact: Contact | Group): string {
  if ("history" in contact) return counted(contact.member_count, "member", "members");
  return toName(contact) === contact.username ? contact.phone_number : `@${contact.username}`;
}

/** Returns who wrote the last message, if that is not clear from the name of the conversation. */
function toSpeaker({ kind, last_message }: Conversation, meId: string): string {
  const sender = last_message?.sender;
  if (sender?.id === meId) return "You: ";
  return kind === "group" && sender ? `${toUserName(sender)}: ` : "";
}

/** The last message in one line, and how many are unread. */
function Latest({ conversation }: { conversation: Conversation }) {
  const { me } = useSession();
  const { last_message: last, unread_count: unread } = conversation;
  return (
    <>
      <span class={unread > 0 ? "ellipsis strong" : "muted ellipsis"}>
        {last && `${toSpeaker(conversation, me.id)}${toPreview(last)}`}
      </span>
      {unread > 0 && (
        <span class={isMuted(conversation) ? "unread quiet" : "unread"}>
          {unread > 99 ? "99+" : unread}
          <span class="visually-hidden"> unread</span>
        </span>
      )}
    </>
  );
}

function reveal(box: HTMLElement, index: number): void {
  const top = index * ROW;
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + ROW > box.scrollTop + box.clientHeight) box.scrollTop = top + ROW - box.clientHeight;
}

/** Returns the rows in view. Renders again when another row scrolls in, not for each pixel. */
function useWindow(box: { current: HTMLElement | null }): { first: number; count: number } {
  const [rows, setRows] = useState({ first: 0, count: 20 });
  useLayoutEffect(() => {
    const element = box.current!;
    const measure = () => {
      const first = Math.floor(element.scrollTop / ROW);
      const count = Math.ceil(element.clientHeight / ROW) + 1;
      setRows((old) => (old.first === first && old.count === count ? old : { first, count }));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, [box]);
  return rows;
}
