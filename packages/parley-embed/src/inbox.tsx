// The list of conversations, and below them of contacts without messages.
import type { InboxEntry, ListView } from "parley-sync";
import { useEffect, useRef, useState } from "preact/hooks";
import { useMe, useSession, useView } from "./session.ts";
import { Avatar, Icon } from "./small.tsx";
import { toLine, toName, toTitle } from "./texts.ts";

/** How far from the end to load older conversations, in pixels. */
const AHEAD = 400;

type Listed = Pick<InboxEntry, "id" | "kind" | "name" | "avatar_url" | "last_message" | "unread_count">;

/** Returns the entries, and the list that has older ones. */
function useEntries(): { items: readonly Listed[]; older: ListView<unknown> | undefined } {
  const { sync } = useSession();
  const [inbox, contacts] = [sync.inbox(), sync.contacts()];
  const [talks, people] = [useView(inbox), useView(contacts)];
  // The conversation with a contact may be an older one.
  if (talks.hasOlder) return { items: talks.items, older: inbox };
  const known = new Set(talks.items.map(({ id }) => id));
  const others = people.items.map((contact): Listed => {
    const { conversation_id: id, display_name, profile_name, username, avatar_url } = contact;
    const name = display_name || profile_name || username;
    return { id, kind: "contact", name, avatar_url, last_message: null, unread_count: 0 };
  });
  const items = [...talks.items, ...others.filter(({ id }) => !known.has(id))];
  return { items, older: people.hasOlder ? contacts : undefined };
}

export function Inbox({ openId, onOpen }: { openId: string | null; onOpen: (id: string) => void }) {
  const { sync, translate } = useSession();
  const { items, older } = useEntries();
  const { state } = useView(sync.connection());
  const box = useRef<HTMLUListElement>(null);
  const [activeId, setActive] = useState(openId);
  const active = Math.max(
    0,
    items.findIndex(({ id }) => id === activeId),
  );
  const loadOlder = () => {
    if (!box.current || !older) return;
    const { scrollTop, scrollHeight, clientHeight } = box.current;
    if (scrollTop + clientHeight > scrollHeight - AHEAD) void older.loadOlder().catch(() => {});
  };
  useEffect(loadOlder, [items.length, older?.subscribe]);
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, number> = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      Home: 0,
      End: items.length,
    };
    const to = steps[event.key];
    const entry = items[Math.max(0, Math.min(items.length - 1, to ?? active))];
    if (!entry || (to === undefined && event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    if (to === undefined) return onOpen(entry.id);
    setActive(entry.id);
    box.current!.children[items.indexOf(entry)]!.scrollIntoView({ block: "nearest" });
  };
  return (
    <nav class="inbox" aria-label={translate("conversations")}>
      <h2 class="inbox-title">{translate("conversations")}</h2>
      {items.length > 0 ? (
        <ul
          ref={box}
          class="entries"
          role="listbox"
          tabIndex={0}
          aria-label={translate("conversations")}
          aria-activedescendant={items[active]?.id}
          onKeyDown={onKeyDown}
          onScroll={loadOlder}
        >
          {items.map((entry, at) => (
            <li
              key={entry.id}
              id={entry.id}
              class={at === active ? "entry active" : "entry"}
              role="option"
              aria-selected={entry.id === openId}
              onClick={() => {
                setActive(entry.id);
                onOpen(entry.id);
              }}
            >
              <Entry entry={entry} />
            </li>
          ))}
        </ul>
      ) : (
        state === "live" && (
          <p class="empty">
            <Icon name="talk" />
            {translate("noConversations")}
          </p>
        )
      )}
    </nav>
  );
}

function Entry({ entry }: { entry: Listed }) {
  const { translate, format } = useSession();
  const me = useMe();
  const { kind, avatar_url, last_message, unread_count } = entry;
  const title = toTitle(entry, translate);
  const toSpeaker = () => {
    if (last_message?.type !== "text" || kind === "self") return "";
    if (last_message.sender?.id === me?.id) return `${translate("you")}: `;
    return kind === "group" ? `${toName(last_message.sender, translate)}: ` : "";
  };
  return (
    <>
      <Avatar name={title} url={avatar_url} />
      <span class="entry-text">
        <span class="entry-line">
          <bdi class="entry-name ellipsis">{title}</bdi>
          {last_message && <time class="muted">{format.short(last_message.created_at)}</time>}
        </span>
        <span class="entry-line">
          <span class={unread_count > 0 ? "ellipsis" : "ellipsis muted"}>
            {last_message && (
              <bdi>
                {toSpeaker()}
                {toLine(last_message, translate)}
              </bdi>
            )}
          </span>
          {unread_count > 0 && (
            <span class="badge">
              <span aria-hidden="true">{unread_count > 99 ? "99+" : unread_count}</span>
              <span class="visually-hidden">{translate("unread", { count: unread_count })}</span>
            </span>
          )}
        </span>
      </span>
    </>
  );
}
