// The messages of a conversation, newest at the bottom. Keeps the visible messages in place when others are added
// above or below.
import { Fragment } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Message } from "../../../packages/parley-client/src/index.ts";
import type { EditOperation } from "../../../packages/parley-sync/src/index.ts";
import { useSession } from "../session/session.ts";
import { ContextMenu } from "../ui/context-menu.tsx";
import { formatDay, isSameDay } from "../ui/format.ts";
import { oncePerFrame } from "../ui/frames.ts";
import { IconButton } from "../ui/icons.tsx";
import { hasModifier } from "../ui/keys.ts";
import { PageFailure, Reading } from "../ui/page-notes.tsx";
import { MessageRow, OutgoingRow } from "./message-row.tsx";
import { listChoices, type MessageActions, MessageItems } from "./message-tools.tsx";
import type { Progress } from "./tick.tsx";
import type { Messages, useQuoted } from "./use-messages.ts";
import { isNews } from "./use-reading.ts";

/** How far from an end to load the next page, in pixels. */
const AHEAD = 1500;
/** How close to the end counts as at the end, in pixels. */
const NEAR = 40;
/** Messages within this time share one name, in seconds. */
const RUN_SECONDS = 300;

/** Where to scroll: to a message, centred and marked, or at the top if it begins the unread ones; or to the end. */
export type Target =
  | { id: string; how: "marked"; isFocused: boolean }
  | { id: string; how: "first" }
  | { how: "end" };

export function MessageList(props: {
  name: string;
  pages: Messages;
  /** Refused edits, by message. */
  refusedEdits: ReadonlyMap<string, EditOperation>;
  toQuoted: ReturnType<typeof useQuoted>;
  actions: MessageActions;
  /** The message above the line "New"; undefined for no line. */
  newAfter: string | undefined;
  contactReadId: string | null;
  /** Returns the progress of an unread message of the user. */
  toProgress: (message: Message) => Progress | undefined;
  target: { current: Target | undefined };
  /** The message in view; undefined at the end of the conversation. */
  held: { current: string | undefined };
  /** Called with the last message in view. */
  onSeen: (id: string) => void;
  /** Scrolls to the end of the conversation. */
  onNewest: () => void;
  /** Called if the target message no longer exists. */
  onGone: () => void;
}) {
  const { pages, actions, newAfter, toQuoted } = props;
  const isHeldUp = pages.outgoing.find(({ state }) => state !== "failed")?.reason != null;
  const session = useSession();
  const { me } = session;
  const box = useRef<HTMLDivElement>(null);
  const [isAtEnd, setAtEnd] = useState(true);
  useScroll(box, props, setAtEnd);
  const first = findFirstNew(pages, newAfter, me.id);
  const toProgress = (message: Message) => {
    if (message.type !== "text" || message.sender?.id !== me.id) return undefined;
    return message.id <= (props.contactReadId ?? "") ? "read" : props.toProgress(message);
  };
  const toItems = (id: string) => {
    const message = pages.items.find((each) => each.id === id);
    const choices = message ? listChoices(message, actions, session) : [];
    return choices.length > 0 && <MessageItems message={message!} choices={choices} />;
  };
  /** A long press on a reaction shows who has reacted, as the tooltip does for a mouse. */
  const onPress = (id: string, target: Element) => {
    const message = target.closest(".reaction:enabled") && pages.items.find((each) => each.id === id);
    if (message) actions.react(message);
    return Boolean(message);
  };
  return (
    <div
      ref={box}
      class="messages"
      tabIndex={0}
      role="group"
      aria-label={`Messages: ${props.name}`}
      onKeyDown={(event) => moveFocus(box.current!, event)}
    >
      {pages.loading && pages.items.length === 0 && <Reading />}
      {!pages.hasNewer && <PageFailure pages={pages} />}
      <ol class="message-list">
        {pages.items.map((message, at) => {
          const before = pages.items[at - 1];
          // How a message looks depends on the one before it, so wait for the previous page rather than change later.
          if (!before && pages.hasOlder) return null;
          const isNewDay = !before || !isSameDay(before.created_at, message.created_at);
          return (
            <Fragment key={message.id}>
              {isNewDay && <li class="day">{formatDay(message.created_at)}</li>}
              {message.id === first && <li class="new-line">New</li>}
              <MessageRow
                message={message}
                actions={actions}
                own={message.sender?.id === me.id}
                follows={!isNewDay && message.id !== first && isRun(before!, message)}
                quoted={message.reply_to_id === null ? undefined : toQuoted(message.reply_to_id)}
                progress={toProgress(message)}
                refusedEdit={props.refusedEdits.get(message.id)}
              />
            </Fragment>
          );
        })}
        {!pages.hasNewer &&
          pages.outgoing.map((each) => (
            <OutgoingRow
              key={each.key}
              message={each}
              actions={actions}
              isHeldUp={isHeldUp}
              quoted={each.reply_to_id === null ? undefined : toQuoted(each.reply_to_id)}
            />
          ))}
      </ol>
      {pages.hasNewer && <PageFailure pages={pages} />}
      {!isAtEnd && (
        <div class="to-newest">
          <IconButton icon="down" label="Go to the newest message" onClick={props.onNewest} />
        </div>
      )}
      <ContextMenu label="Message actions" box={box} rows=".message" items={toItems} onPress={onPress} />
    </div>
  );
}

function isRun(before: Message, message: Message): boolean {
  return (
    before.type === "text" &&
    before.sender?.id === message.sender?.id &&
    message.created_at - before.created_at < RUN_SECONDS &&
    message.reply_to_id === null
  );
}

/** Returns the first message after the line "New", if everything after the line is loaded. */
function findFirstNew({ items, hasOlder }: Messages, after: string | undefined, meId: string) {
  if (after === undefined || (hasOlder && items[0] && items[0].id > after)) return undefined;
  return items.find((each) => each.id > after && isNews(each, meId))?.id;
}

/** Moves the focus between messages with the arrow keys. Tab moves to the buttons of the focused one. */
function moveFocus(box: HTMLElement, event: KeyboardEvent): void {
  const { target, key } = event;
  if ((key !== "ArrowUp" && key !== "ArrowDown") || event.defaultPrevented || hasModifier(event)) return;
  // The keys of a player.
  if ((target as Element).closest("input, video")) return;
  const rows = [...box.querySelectorAll<HTMLElement>(".message")];
  const at = rows.indexOf((target as Element).closest<HTMLElement>(".message")!);
  const to = at < 0 ? rows.length - 1 : at + (key === "ArrowUp" ? -1 : 1);
  rows[to]?.focus();
  event.preventDefault();
}

interface Snapshot {
  /** Whether the newest message is in view. */
  isAtEnd: boolean;
  /** The scrollable height, in pixels. */
  height: number;
  /** The visible messages and their positions. */
  places: [id: string, top: number][];
  /** The last message whose end is in view or above. */
  seen: string | undefined;
}

function takeSnapshot(box: HTMLElement, { hasNewer }: Messages): Snapshot {
  const { top, bottom } = box.getBoundingClientRect();
  const rows = box.querySelectorAll(".message");
  let at = 0;
  for (let end = rows.length; at < end; ) {
    const middle = (at + end) >> 1;
    if (rows[middle]!.getBoundingClientRect().bottom <= top) at = middle + 1;
    else end = middle;
  }
  let seen = rows[at - 1]?.id;
  const places: Snapshot["places"] = [];
  for (; at < rows.length; at++) {
    const row = rows[at]!;
    const place = row.getBoundingClientRect();
    if (place.top > bottom) break;
    places.push([row.id, place.top]);
    if (place.bottom <= bottom + NEAR && !row.matches(".outgoing")) seen = row.id;
  }
  const isAtEnd = !hasNewer && box.scrollHeight - box.scrollTop - box.clientHeight < NEAR;
  return { isAtEnd, height: box.scrollHeight, places, seen };
}

/** Restores the positions of a snapshot after the page has changed. */
function restore(box: HTMLElement, { isAtEnd, height, places }: Snapshot): void {
  // Scroll to additions only from the very end: a reader who is merely close to it stays.
  if (isAtEnd && box.scrollHeight > height) {
    box.scrollTop = box.scrollHeight;
    return;
  }
  for (const [id, top] of places) {
    const row = document.getElementById(id);
    if (!row) continue;
    box.scrollTop += row.getBoundingClientRect().top - top;
    return;
  }
}

/** Scrolls to the target. Returns whether it is on the page. */
function show(box: HTMLElement, target: Target, { loading }: Messages): boolean {
  if (target.how === "end") {
    if (!loading) box.scrollTop = box.scrollHeight;
    return !loading;
  }
  const row = document.getElementById(target.id);
  if (!row) return false;
  if (target.how === "first")
    box.scrollTop += row.getBoundingClientRect().top - box.getBoundingClientRect().top - 80;
  else {
    row.scrollIntoView({ block: "center" });
    if (target.isFocused) row.focus({ preventScroll: true });
    for (const before of box.querySelectorAll(".marked")) before.classList.remove("marked");
    row.classList.add("marked");
    row.addEventListener("animationend", () => row.classList.remove("marked"), { once: true });
  }
  return true;
}

function toSize({ clientWidth, clientHeight }: Element): string {
  return `${clientWidth} ${clientHeight}`;
}

function useScroll(
  box: { current: HTMLElement | null },
  props: Parameters<typeof MessageList>[0],
  onAtEnd: (isAtEnd: boolean) => void,
): void {
  const { pages, target, held } = props;
  const latest = useRef(props);
  // The DOM still has the previous state here.
  const before = box.current && takeSnapshot(box.current, latest.current.pages);
  latest.current = props;
  const size = useRef("");
  const check = useRef(
    oncePerFrame(() => {
      const element = box.current;
      if (!element || document.hidden) return;
      const { pages, held, onSeen } = latest.current;
      // The size has changed: leave it to the resize observer, which knows what was in view before.
      if (toSize(element) !== size.current) return;
      const { isAtEnd, places, seen } = takeSnapshot(element, pages);
      onAtEnd(isAtEnd);
      // The server does not know unsent messages.
      const known = places.find(([id]) => id.startsWith("msg_"))?.[0] ?? pages.items.at(-1)?.id;
      held.current = isAtEnd ? undefined : known;
      if (element.scrollTop < AHEAD) pages.older();
      if (element.scrollHeight - element.scrollTop - element.clientHeight < AHEAD) pages.newer();
      if (seen) onSeen(seen);
    }),
  );
  useLayoutEffect(() => {
    const element = box.current!;
    const isShown = target.current && show(element, target.current, pages);
    if (!isShown && before) restore(element, before);
    // A target that is missing when everything is loaded no longer exists.
    const isGone = !isShown && !pages.loading && !pages.failure;
    if (isGone && target.current?.how === "marked") latest.current.onGone();
    // A list that has just appeared is measured before the next frame, and must not scroll to its end.
    if (isShown && target.current!.how !== "end") held.current = target.current!.id;
    if (isShown || isGone) target.current = undefined;
    check.current();
  });
  useLayoutEffect(() => {
    const element = box.current!;
    const listener = check.current;
    // A growing composer takes room from the messages.
    const observer = new ResizeObserver(() => {
      size.current = toSize(element);
      if (held.current === undefined) element.scrollTop = element.scrollHeight;
      listener();
    });
    observer.observe(element);
    element.addEventListener("scroll", listener, { passive: true });
    document.addEventListener("visibilitychange", listener);
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", listener);
      document.removeEventListener("visibilitychange", listener);
    };
  }, [box, held]);
}
