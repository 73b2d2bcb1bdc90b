// The unread state of the open conversation: the line "New", the read position, and announcements for screen readers.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Conversation, Message } from "../../../packages/parley-client/src/index.ts";
import { toSystemText } from "../groups/texts.ts";
import { toOneLine } from "../people/people.tsx";
import { useChanges, useSession } from "../session/session.ts";

/** Within this time, read messages share one request, and new messages one announcement. */
const GATHER_MS = 400;

type Shown = Pick<Conversation, "unread_count" | "last_read_id"> & {
  last_message: Pick<Message, "id"> | null;
};

/** Places the line "New": where unread messages began, or where the window was hidden, until the user writes. */
export function useNewLine(conversation: Shown) {
  const [after, setAfter] = useState(() =>
    conversation.unread_count > 0 ? (conversation.last_read_id ?? "") : undefined,
  );
  const latest = useRef(conversation);
  latest.current = conversation;
  useEffect(() => {
    const note = () => document.hidden && setAfter(latest.current.last_message?.id);
    document.addEventListener("visibilitychange", note);
    return () => document.removeEventListener("visibilitychange", note);
  }, []);
  return { after, clear: () => setAfter(undefined) };
}

/** Returns a function to call with each message that was in view. It marks messages up to there as read. */
export function useMarkRead(
  { id: conversationId, last_read_id }: Pick<Conversation, "id" | "last_read_id">,
  items: readonly Message[],
): (seen: string) => void {
  const { sync, me, can } = useSession();
  const seen = useRef("");
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const mark = () => {
    timer.current = undefined;
    sync.read(conversationId, seen.current);
  };
  return (id) => {
    const isUnread = items.some(
      (each) => each.id > (last_read_id ?? "") && each.id <= id && isNews(each, me.id),
    );
    if (!isUnread || !can("messages:write")) return;
    seen.current = id;
    timer.current ??= setTimeout(mark, GATHER_MS);
  };
}

/** Reports whether a message counts as unread until it is seen: others wrote it. */
export function isNews({ type, sender }: Message, meId: string): boolean {
  return type === "text" && sender?.id !== meId;
}

/**
 * Returns the announcement for screen readers: how many new messages others sent, or a single message, and what
 * others did.
 */
export function useNews(
  conversationId: string,
  name: string,
  toName: (sender: Message["sender"]) => string,
): string {
  const { me, people } = useSession();
  const [news, setNews] = useState("");
  const gathered = useRef<Message[]>([]);
  useChanges((change) => {
    if (change.type !== "message.created") return;
    const { payload } = change;
    if (payload.conversation_id !== conversationId || payload.sender?.id === me.id) return;
    gathered.current.push(payload);
    if (gathered.current.length > 1) return;
    setTimeout(() => {
      const all = gathered.current.splice(0);
      const written = all.filter(({ type }) => type === "text").length;
      const toLine = (each: Message) =>
        each.type === "text"
          ? `${toName(each.sender)}: ${toOneLine(each)}`
          : toSystemText(each, me.id, people);
      setNews(written > 1 ? `${written} new messages from ${name}` : all.map(toLine).join(". "));
    }, GATHER_MS);
  });
  return news;
}
