// The contacts as a list box that renders only the rows in view, so that 100,000 scroll as fast as ten.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Contact } from "../../client/src/index.ts";
import { Avatar, toName } from "./people.tsx";
import type { Pages } from "./use-pages.ts";

/** The height of a row, as in the style sheet. */
const ROW = 60;
/** Extra rows beyond the edges, so that no gap shows while scrolling. */
const SPARE = 8;
/** How many rows before the end the next page is requested. */
const AHEAD = 60;

export function ContactList(props: {
  label: string;
  pages: Pages<Contact>;
  openId: string;
  unseen: ReadonlySet<string>;
  onOpen: (contact: Contact) => void;
}) {
  const { pages, openId, unseen, onOpen } = props;
  const { items } = pages;
  const box = useRef<HTMLDivElement>(null);
  const { first, count } = useWindow(box);
  const [active, setActive] = useState(0);
  const at = Math.min(active, items.length - 1);
  const start = Math.max(0, Math.min(first, items.length - 1) - SPARE);
  const end = Math.min(items.length, first + count + SPARE);
  useEffect(() => {
    if (first + count + AHEAD > items.length) pages.more();
  });
  const move = (to: number) => {
    const next = Math.max(0, Math.min(items.length - 1, to));
    setActive(next);
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
      aria-activedescendant={items[at] && at >= start && at < end ? items[at].id : undefined}
      onKeyDown={onKeyDown}
    >
      <div class="contact-rows" role="presentation" style={{ height: `${items.length * ROW}px` }}>
        {items.slice(start, end).map((contact, offset) => (
          <Row
            key={contact.id}
            contact={contact}
            at={start + offset}
            total={pages.hasMore ? -1 : items.length}
            open={contact.id === openId}
            active={start + offset === at}
            unseen={unseen.has(contact.conversation_id)}
            onOpen={() => {
              setActive(start + offset);
              onOpen(contact);
            }}
          />
        ))}
      </div>
    </div>
  );
}

function Row(props: {
  contact: Contact;
  at: number;
  total: number;
  open: boolean;
  active: boolean;
  unseen: boolean;
  onOpen: () => void;
}) {
  const { contact, at } = props;
  return (
    <div
      id={contact.id}
      class={props.active ? "contact-row active" : "contact-row"}
      role="option"
      aria-selected={props.open}
      aria-posinset={at + 1}
      aria-setsize={props.total}
      style={{ transform: `translateY(${at * ROW}px)` }}
      onClick={props.onOpen}
    >
      <Avatar name={toName(contact)} />
      <span class="contact-text">
        <span class="contact-name">{toName(contact)}</span>
        <span class="muted small ellipsis">
          {toName(contact) === contact.username ? contact.phone_number : `@${contact.username}`}
        </span>
      </span>
      {props.unseen && (
        <span class="unseen">
          <span class="visually-hidden">New files</span>
        </span>
      )}
    </div>
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
