// How the list of messages keeps its place, loads older messages, and marks those that are seen as read.
import { type Message, ParleyApiError } from "parley-client";
import type { ConversationState, SyncMessage } from "parley-sync";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useSession, useView } from "./session.ts";

/** How far from the start to load older messages, in pixels. */
const AHEAD = 300;
/** Within this distance from the end, the list follows new messages. */
const NEAR = 60;

type Box = { readonly current: HTMLDivElement | null };

/** Moves the focus from message to message by the arrow keys. Tab reaches one of them, at first the last. */
export function useActive(box: Box, messages: readonly SyncMessage[]) {
  const [focusedKey, setFocused] = useState<string>();
  const [hoveredKey, setHovered] = useState<string>();
  const focusedAt = messages.findIndex(({ key }) => key === focusedKey);
  const active = focusedAt < 0 ? messages.length - 1 : focusedAt;
  const toRow = (target: EventTarget | null) =>
    (target as Element | null)?.closest<HTMLElement>("[data-key]");
  const focus = (at: number) => {
    const { key } = messages[Math.min(at, messages.length - 1)] ?? {};
    const rows = box.current!.querySelectorAll<HTMLElement>("[data-key]");
    const row = [...rows].find((each) => each.dataset.key === key);
    row?.focus({ preventScroll: true });
    row?.scrollIntoView({ block: "nearest" });
  };
  const listeners = {
    onKeyDown(event: KeyboardEvent) {
      const steps: Record<string, number> = {
        ArrowDown: active + 1,
        ArrowUp: active - 1,
        Home: 0,
        End: Infinity,
      };
      const to = steps[event.key];
      if (to === undefined) return;
      event.preventDefault();
      focus(to);
    },
    onFocusIn({ target }: FocusEvent) {
      setFocused(toRow(target)?.dataset.key);
      setHovered(undefined);
    },
    onFocusOut: ({ relatedTarget }: FocusEvent) => setFocused(toRow(relatedTarget)?.dataset.key),
    // Not when the list scrolls under a pointer at rest.
    onMouseMove({ target }: MouseEvent) {
      if (!box.current!.querySelector(".choice")) setHovered(toRow(target)?.dataset.key);
    },
    onMouseLeave: () => setHovered(undefined),
  };
  return { active, shownKey: hoveredKey ?? focusedKey, focus, listeners };
}

/** Keeps the place in the list: its end, or what is in view while older messages are added above. */
export function useScrolling(box: Box, messages: readonly SyncMessage[], meId: string | undefined) {
  const [isAtEnd, setAtEnd] = useState(true);
  const shown = useRef({ first: "", last: "" });
  /** Where the list follows its end; null after scrolling away from it. */
  const followed = useRef<number | null>(0);
  const isNear = ({ scrollTop, scrollHeight, clientHeight }: HTMLElement) =>
    scrollHeight - scrollTop - clientHeight < NEAR;
  // Scrolling takes effect before its event says so.
  const isFollowing = () => {
    const { current } = box;
    return (
      !current || (followed.current !== null && (current.scrollTop >= followed.current || isNear(current)))
    );
  };
  // Before this render changes the page.
  const fromEnd = box.current ? box.current.scrollHeight - box.current.scrollTop : 0;
  const wasFollowing = isFollowing();
  const toEnd = () => {
    const { current } = box;
    if (!current) return;
    current.scrollTop = current.scrollHeight;
    followed.current = current.scrollTop;
  };
  const first = messages[0]?.key ?? "";
  const last = messages.at(-1);
  useLayoutEffect(() => {
    const before = shown.current;
    const isOwnNew = last?.key !== before.last && last?.sender?.id === meId;
    if (wasFollowing || isOwnNew) toEnd();
    else if (first !== before.first) box.current!.scrollTop = box.current!.scrollHeight - fromEnd;
    shown.current = { first, last: last?.key ?? "" };
  }, [messages]);
  useEffect(() => {
    // The box changes with the composer, its content when pictures load.
    const observer = new ResizeObserver(() => isFollowing() && toEnd());
    for (const each of [box.current!, ...box.current!.children]) observer.observe(each);
    return () => observer.disconnect();
  }, [messages.length > 0]);
  const onScroll = () => {
    const isAtEnd = isNear(box.current!);
    followed.current = isAtEnd ? box.current!.scrollTop : null;
    setAtEnd(isAtEnd);
  };
  return { isAtEnd, onScroll, toEnd };
}

/** Loads older messages while the start of the list is near. Returns whether that is so. */
export function useOlder(box: Box, id: string, hasOlder: boolean): boolean {
  const { sync } = useSession();
  const { state: link } = useView(sync.connection());
  const [isLoading, setLoading] = useState(false);
  const [pages, setPages] = useState(0);
  const load = () => {
    if (!hasOlder || isLoading || box.current!.scrollTop > AHEAD) return;
    setLoading(true);
    const end = (loaded: number) => {
      setLoading(false);
      setPages(pages + loaded);
    };
    sync
      .conversation(id)
      .loadOlder()
      .then(
        () => end(1),
        () => end(0),
      );
  };
  // A refusal is not repeated until the user scrolls or the connection changes.
  useEffect(load, [id, hasOlder, pages, link]);
  useEffect(() => {
    const { current } = box;
    current!.addEventListener("scroll", load);
    return () => current!.removeEventListener("scroll", load);
  }, [id, hasOlder, isLoading, pages]);
  return isLoading;
}

/** Marks messages as read while the end of the list is in view. */
export function useReading(
  box: Box,
  id: string,
  { messages, conversation }: ConversationState,
  isAtEnd: boolean,
): void {
  const { sync } = useSession();
  const newest = messages.findLast(({ state }) => state === "sent")?.id;
  const unread = conversation?.unread_count ?? 0;
  useEffect(() => {
    const read = () => {
      const isSeen = isAtEnd && !document.hidden && (box.current?.clientHeight ?? 0) > 0;
      if (isSeen && unread > 0 && newest !== undefined) sync.read(id, newest);
    };
    // A hidden element has no size.
    const observer = new ResizeObserver(read);
    observer.observe(box.current!);
    document.addEventListener("visibilitychange", read);
    return () => {
      observer.disconnect();
      document.removeEventListener("visibilitychange", read);
    };
  }, [id, unread, newest, isAtEnd]);
}

/** Returns a function that finds the message with an id, also one that must be loaded; null if it is deleted. */
export function useQuoted(
  messages: readonly SyncMessage[],
): (id: string | null) => Message | null | undefined {
  const { sync } = useSession();
  const [loaded, setLoaded] = useState<ReadonlyMap<string, Message | null | undefined>>(new Map());
  const find = (id: string | null) =>
    id === null ? null : (messages.find((each) => each.id === id) ?? loaded.get(id));
  useEffect(() => {
    for (const { reply_to_id: id } of messages) {
      if (id === null || find(id) !== undefined || loaded.has(id)) continue;
      const keep = (message: Message | null | undefined) =>
        setLoaded((before) => new Map(before).set(id, message));
      keep(undefined);
      sync.client.messages.retrieve(id).then(keep, (error) => {
        if (error instanceof ParleyApiError && error.status === 404) keep(null);
      });
    }
  }, [messages]);
  return find;
}
