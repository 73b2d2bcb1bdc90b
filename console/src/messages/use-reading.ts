// The unread state of the open conversation: the line "New", the read position, and announcements for screen readers.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Conversation, Message } from "../../../packages/parley-client/src/index.ts";
import { toSystemText } from "../groups/texts.ts";
import { toOneLine } from "../people/people.tsx";
import { useChanges, useSession } from "../session/session.ts";

/** Within this time, read messages share one request, and new messages one announcement. */
const GATHER_MS = 400;

/** Places the line "New": where unread messages began, or where the window was hidden, until the user writes. */
export function useNewLine(conversation: Conversation) {
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
export function useMarkRead(conversation: Conversation, items: readonly Message[]): (seen: string) => void {
  const { parley, events, endIfRefused, me, can } = useSession();
  const readTo = useRef(conversation.last_read_id ?? "");
  const seen = useRef("");
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const mark = async () => {
    timer.current = undefined;
    const before = readTo.current;
    readTo.current = seen.current;
    try {
      await parley.conversations.markRead(conversation.id, { message_id: seen.current });
      events.publish({ type: "conversation.read", payload: { id: conversation.id } });
    } catch (error) {
      // The next message in view retries.
      readTo.current = before;
      endIfRefused(error);
    }
  };
  return (id) => {
    const isUnread = items.some((each) => each.id > readTo.current && each.id <= id && isNews(each, me.id));
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
