// The links of a conversation. Only those in view are rendered.
import { useEffect, useRef } from "preact/hooks";
import { MessageText } from "../messages/message-text.tsx";
import { useSession } from "../session/session.ts";
import { formatFullTime, formatTime } from "../ui/format.ts";
import { Icon } from "../ui/icons.tsx";
import { useWindow } from "../ui/list-box.tsx";
import { PageFailure, Reading } from "../ui/page-notes.tsx";
import type { SharedFile } from "./file-actions.ts";
import { type SharedLink, useLinks } from "./use-links.ts";

const ROW = 76;
/** Extra rows outside the view, to avoid gaps while scrolling. */
const SPARE = 8;
/** How many rows before the end to load the next page. */
const AHEAD = 40;

export function LinkList(props: {
  id: string;
  name: string;
  q: string;
  toSender: (file: Pick<SharedFile, "sender">) => string;
}) {
  const { name, q, toSender } = props;
  const pages = useLinks(props.id, q);
  const { items, hasMore, loading, failure, more } = pages;
  const box = useRef<HTMLDivElement>(null);
  const { first, count } = useWindow(box, ROW);
  useEffect(() => {
    if (first + count + AHEAD > items.length) more();
  });
  const start = Math.max(0, first - SPARE);
  return (
    <div ref={box} class="links">
      {items.length > 0 && (
        <ul aria-label={`Links of ${name}`} style={{ height: `${items.length * ROW}px` }}>
          {items.slice(start, first + count + SPARE).map((link, offset) => (
            <Row
              key={link.id}
              link={link}
              sender={toSender(link.message)}
              at={start + offset}
              count={hasMore ? -1 : items.length}
            />
          ))}
        </ul>
      )}
      {items.length === 0 && loading && <Reading />}
      {items.length === 0 && !loading && !failure && (
        <p class="muted">
          {q
            ? `Nothing matches “${q}”.`
            : "No links yet. Those that begin with https:// or http:// are listed here."}
        </p>
      )}
      <PageFailure pages={pages} />
    </div>
  );
}

function Row(props: { link: SharedLink; sender: string; at: number; count: number }) {
  const { link, sender, at } = props;
  const { text, message } = link;
  const { jumps } = useSession();
  const time = formatTime(message.created_at);
  const show = () => jumps.to(message, location.hash.slice(1));
  return (
    <li
      class="link-row"
      aria-posinset={at + 1}
      aria-setsize={props.count}
      style={{ height: `${ROW}px`, transform: `translateY(${at * ROW}px)` }}
    >
      <MessageText message={{ ...message, text }} isReachable />
      <button type="button" class="link-source muted small" title="Show in conversation" onClick={show}>
        {sender && <span class="ellipsis">{sender}</span>}
        <time title={formatFullTime(message.created_at)}>{time}</time>
        <Icon name="reply" />
      </button>
    </li>
  );
}
