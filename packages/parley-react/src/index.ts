import type {
  Connection,
  ConversationState,
  Inbox,
  ListView,
  Outgoing,
  Sync,
  SyncMessage,
  View,
} from "parley-sync";
import {
  createContext,
  createElement,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useState,
  useSyncExternalStore,
} from "react";

/** How long clients show that somebody is typing, as the API says. */
const SHOWN_MS = 6_000;
/** How often the server is notified while the user types. */
const NOTIFY_MS = 3_000;

type Listed<T> = T & Pick<ListView<T>, "loadOlder">;
type Contact = NonNullable<ConversationState["contact"]>;

export interface Typing {
  /** The ids of the users who are typing, without the caller. */
  typists: readonly string[];
  /** Shows the others that the caller is typing. Call it at each input. */
  notifyTyping: () => void;
}

const NOBODY: { conversationId: string; typists: readonly string[] } = { conversationId: "", typists: [] };

const SyncContext = createContext<Sync | undefined>(undefined);

/** Passes the object of `openSync` to the hooks of all components inside. */
export function ParleyProvider({ sync, children }: { sync: Sync; children?: ReactNode }): ReactNode {
  return createElement(SyncContext.Provider, { value: sync }, children);
}

/** Returns the object of `openSync`, for all that has no hook. */
export function useSync(): Sync {
  const sync = useContext(SyncContext);
  if (!sync) throw new Error("Hooks of parley-react need a ParleyProvider around the component.");
  return sync;
}

/** Returns a part of a view; on a server, when components are rendered there, what the copy has. */
function useView<T, Part>({ subscribe, getSnapshot }: View<T>, toPart: (snapshot: T) => Part): Part {
  const getPart = () => toPart(getSnapshot());
  return useSyncExternalStore(subscribe, getPart, getPart);
}

function useList<T extends object>(view: ListView<T>): Listed<T> {
  const snapshot = useView(view, toAll);
  return useMemo(() => ({ ...snapshot, loadOlder: view.loadOlder }), [snapshot, view]);
}

function toAll<T>(snapshot: T): T {
  return snapshot;
}

/** Returns the conversations of the inbox, most recent activity first. */
export function useInbox(): Listed<Inbox> {
  const sync = useSync();
  return useList(useMemo(() => sync.inbox(), [sync]));
}

/** Returns a conversation with its messages, oldest first. */
export function useMessages(conversationId: string): Listed<ConversationState> {
  const sync = useSync();
  return useList(useMemo(() => sync.conversation(conversationId), [sync, conversationId]));
}

/** Returns a function that queues a message and returns it as it is shown. */
export function useSend(conversationId: string): (outgoing: Outgoing) => SyncMessage {
  const sync = useSync();
  return useCallback((outgoing: Outgoing) => sync.send(conversationId, outgoing), [sync, conversationId]);
}

/** Returns the number of conversations of the inbox with unread messages, without muted ones. */
export function useUnread(): number {
  return useView(useSync().inbox(), ({ items }) => {
    const now = Date.now() / 1000;
    return items.filter(({ unread_count, muted_until }) => unread_count > 0 && (muted_until ?? 0) <= now)
      .length;
  });
}

/** Returns who is typing in a conversation, and a function that shows the others that the caller is. */
export function useTyping(conversationId: string): Typing {
  const sync = useSync();
  const [shown, setShown] = useState(NOBODY);
  useEffect(() => {
    const timers = new Map<string, ReturnType<typeof setTimeout>>();
    const show = () => setShown({ conversationId, typists: [...timers.keys()] });
    const end = (userId: string) => {
      clearTimeout(timers.get(userId));
      if (timers.delete(userId)) show();
    };
    const stop = sync.onEvent((event) => {
      if (event.conversation_id !== conversationId) return;
      if (event.type === "typing") {
        const { user_id } = event.payload;
        const isNew = !timers.has(user_id);
        clearTimeout(timers.get(user_id));
        timers.set(user_id, setTimeout(end, SHOWN_MS, user_id));
        if (isNew) show();
      } else if (event.type === "message.created" && "sender" in event.payload)
        end(event.payload.sender?.id ?? "");
    });
    return () => {
      stop();
      for (const timer of timers.values()) clearTimeout(timer);
      setShown(NOBODY);
    };
  }, [sync, conversationId]);
  const notifyTyping = useMemo(() => {
    let notifiedAt = Number.NEGATIVE_INFINITY;
    return () => {
      const now = performance.now();
      if (now - notifiedAt < NOTIFY_MS) return;
      notifiedAt = now;
      sync.client.conversations.typing(conversationId).catch(() => {});
    };
  }, [sync, conversationId]);
  const { typists } = shown.conversationId === conversationId ? shown : NOBODY;
  return { typists, notifyTyping };
}

/** Returns a contact; undefined while the copy does not have it. */
export function useContact(id: string): Contact | undefined {
  return useView(useSync().contacts(), ({ items }) => items.find((contact) => contact.id === id));
}

/** Returns the state of the connection, and the caller's own user. */
export function useConnection(): Connection {
  return useView(useSync().connection(), toAll);
}
