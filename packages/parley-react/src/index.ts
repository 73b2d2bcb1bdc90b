import type {
  Connection,
  ContactsState,
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
  useMemo,
  useSyncExternalStore,
} from "react";

type Listed<T> = T & Pick<ListView<T>, "loadOlder">;
type Contact = NonNullable<ConversationState["contact"]>;

export interface Typing {
  /** The ids of the users who are typing, without the caller. */
  typists: readonly string[];
  /** Shows the others that the caller is typing. Call it at each input. */
  notifyTyping: () => void;
}

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
  const view = useMemo(() => sync.typing(conversationId), [sync, conversationId]);
  return { typists: useView(view, toAll), notifyTyping: view.notify };
}

/** Returns the contacts, newest first. The `conversation_id` of one is for `useMessages` and `useSend`, also before a message. */
export function useContacts(): Listed<ContactsState> {
  const sync = useSync();
  return useList(useMemo(() => sync.contacts(), [sync]));
}

/** Returns a contact; undefined while the copy does not have it. */
export function useContact(id: string): Contact | undefined {
  return useView(useSync().contacts(), ({ items }) => items.find((contact) => contact.id === id));
}

/** Returns the state of the connection, and the caller's own user. */
export function useConnection(): Connection {
  return useView(useSync().connection(), toAll);
}
