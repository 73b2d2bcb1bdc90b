// The Messages tab: the messages and the composer.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Message } from "../../../packages/parley-client/src/index.ts";
import type {
  ConversationState,
  EditOperation,
  InboxEntry,
  Sync,
} from "../../../packages/parley-sync/src/index.ts";
import { focusContent, OpenMessageFile } from "../files/open-file.tsx";
import type { User } from "../people/known-people.ts";
import { usePeople } from "../people/people.tsx";
import { PersonDialog } from "../people/person-dialog.tsx";
import { useReceivers } from "../people/receivers.ts";
import { useOpenFile } from "../place.ts";
import { MessageSearch } from "../search/message-search.tsx";
import { useView } from "../session/copy.ts";
import { useChanges, useSession } from "../session/session.ts";
import { useCopy } from "../session/use-copy.ts";
import { Icon } from "../ui/icons.tsx";
import { NotAllowed, PageFailure, Reading, toNotAllowed } from "../ui/page-notes.tsx";
import { useRedraw } from "../ui/use-redraw.ts";
import { Composer, focusComposer } from "./composer.tsx";
import type { Draft } from "./drafts.ts";
import { MessageList, type Target } from "./message-list.tsx";
import type { MessageActions } from "./message-tools.tsx";
import { ReactionPicker, useToggleReaction } from "./reactions.tsx";
import { Readers } from "./readers.tsx";
import { RemoveMessage } from "./remove-message.tsx";
import { useConversation } from "./use-conversation.ts";
import { isSent, type Messages, useMessages, useQuoted } from "./use-messages.ts";
import { isNews, useMarkRead, useNewLine, useNews } from "./use-reading.ts";
import { useTyping } from "./use-typing.ts";

/** With fewer unread messages, the newest page contains them all. */
const MAX_ON_PAGE = 45;
/** An id before all others, for a conversation never read. */
const BEFORE_ALL = "msg_00000000000000000000000000";
/** The maximum number of files in one message. */
const MAX_FILES = 10;

/** A message, and the dialog about it. */
interface Question {
  kind: "react" | "readers" | "remove";
  message: Message;
}

interface Pane {
  id: string;
  name: string;
  kind: "contact" | "group" | "self";
  isBlocked: boolean;
  onPick: () => void;
  isSearching: boolean;
  /** Called with the message that the search showed last. */
  onSearchEnd: (shownId: string) => void;
}

export function MessagesPane(props: Pane) {
  const { can } = useSession();
  return can("messages:read") ? <Loaded {...props} /> : <NotAllowed what="read messages" />;
}

function Loaded(props: Pane) {
  const { state, conversation, failure, retry } = useConversation(props.id);
  const last = useRef<{ conversation: InboxEntry; state: ConversationState } | undefined>(undefined);
  if (state.isLoaded) last.current = conversation && { conversation, state };
  // The copy loads it again, for example after another tab closed that held the connection.
  if (last.current) return <OpenMessages {...props} {...last.current} />;
  return <div class="messages">{failure ? <PageFailure pages={{ failure, retry }} /> : <Reading />}</div>;
}

function OpenMessages(props: Pane & { conversation: InboxEntry; state: ConversationState }) {
  const { id, name, kind, isBlocked, onPick, conversation, state } = props;
  const { me, drafts, sync, jumps, say } = useSession();
  const held = useRef<string | undefined>(undefined);
  const [wanted] = useState(() => jumps.take(id));
  const [unread] = useState(() =>
    conversation.unread_count > MAX_ON_PAGE ? (conversation.last_read_id ?? BEFORE_ALL) : undefined,
  );
  const pages = useMessages(id, state, wanted ?? unread);
  const newLine = useNewLine(conversation);
  const refusedEdits = useRefusedEdits();
  const toQuoted = useQuoted(pages.items, state.messages);
  const target = useTarget(pages, newLine.after, wanted);
  useLayoutEffect(() => jumps.watch(() => jumps.isFor(id) && target.show(jumps.take(id)!)), [jumps, target]);
  const [opened, lookAt] = useOpenFile();
  const [asking, ask] = useState<Question>();
  const [person, show] = useState<User>();
  const [editing, setEditing] = useState<Message>();
  useForgetting(id, editing, setEditing);
  const actions = useActions({ id, kind, setEditing, ask, lookAt, jump: target.show, show });
  const news = useNews(id, name, actions.toName);
  const markRead = useMarkRead(conversation, pages.items);
  const send = (mentions: readonly string[]) => {
    sendDraft(sync, id, drafts.get(id), mentions);
    drafts.clear(id);
    newLine.clear();
    target.toEnd();
  };
  const receivers = useReceivers({ kind, conversation, items: pages.items, name, isBlocked });
  const isEmpty = pages.items.length === 0 && pages.outgoing.length === 0;
  return (
    <>
      <div class="visually-hidden" role="status">
        {news}
      </div>
      {props.isSearching && (
        <MessageSearch
          conversationId={id}
          onShow={target.show}
          onClose={(id) => props.onSearchEnd(target.focus(id))}
        />
      )}
      {isEmpty && !pages.loading && !pages.failure ? (
        <NoMessages name={name} isOwn={kind === "self"} />
      ) : (
        <MessageList
          name={name}
          pages={pages}
          toQuoted={toQuoted}
          refusedEdits={refusedEdits}
          actions={actions}
          newAfter={newLine.after}
          contactReadId={conversation.contact_read_id}
          toProgress={receivers.toProgress}
          target={target.current}
          held={held}
          onSeen={markRead}
          onNewest={target.toEnd}
          onGone={() => say("This message was deleted.")}
        />
      )}
      <Writing
        note={receivers.note}
        conversationId={id}
        name={name}
        editing={editing}
        onEditEnd={() => setEditing(undefined)}
        onPick={onPick}
        onSend={send}
        onEditLast={() => editLast(state, me.id, actions)}
        onRemove={actions.remove}
        toName={actions.toName}
      />
      <OpenMessageFile conversationId={id} pages={pages} actions={actions} opened={opened} lookAt={lookAt} />
      {asking && (
        <MessageDialog {...asking} items={pages.items} actions={actions} onClose={() => ask(undefined)} />
      )}
      {person && <PersonDialog who={person} onClose={() => show(undefined)} />}
    </>
  );
}

/** Edits the user's last message; not one before it while the last one waits, which can't be edited. */
function editLast({ messages }: ConversationState, meId: string, actions: MessageActions): void {
  const last = messages.findLast(({ type, sender }) => type === "text" && sender?.id === meId);
  if (last && isSent(last)) actions.edit(last);
}

/** The composer, with a note on who receives messages and who is typing. */
function Writing({ note, ...composing }: { note: string } & Parameters<typeof Composer>[0]) {
  const { can } = useSession();
  const mayWrite = can("messages:write");
  const text = mayWrite ? note : toNotAllowed("write messages");
  return (
    <>
      {text !== "" && (
        <p class="receivers small" role="note">
          {text}
        </p>
      )}
      <TypingLine id={composing.conversationId} name={composing.name} />
      {mayWrite && <Composer {...composing} />}
    </>
  );
}

/** Ends the reply to, or the edit of, a deleted message. */
function useForgetting(
  conversationId: string,
  editing: Message | undefined,
  setEditing: (message: undefined) => void,
): void {
  const { drafts } = useSession();
  useChanges((change) => {
    if (change.type !== "message.deleted") return;
    const { id } = change.payload;
    if (drafts.get(conversationId).replyTo?.id === id) drafts.change(conversationId, { replyTo: undefined });
    if (editing?.id === id) setEditing(undefined);
  });
}

/**
 * Shows who is typing, over the lower edge of the messages, so that nothing moves. Screen readers announce it, but
 * not on every key.
 */
function TypingLine({ id, name }: { id: string; name: string }) {
  const text = useTyping(id, name);
  return (
    <div class="typing-line" role="status">
      {text && <span class="small">{text}</span>}
    </div>
  );
}

function NoMessages({ name, isOwn }: { name: string; isOwn: boolean }) {
  const { can } = useSession();
  return (
    <div class="messages empty">
      <span class="empty-art">
        <Icon name={isOwn ? "notes" : "send"} />
      </span>
      <h2>No messages yet</h2>
      {can("messages:write") && (
        <>
          <p class="muted">
            {isOwn ? "Only you can see what you write here." : `Write to ${name}, or drop files here.`}
          </p>
          <button type="button" class="button" onClick={focusComposer}>
            {isOwn ? "Write the first note" : "Write the first message"}
          </button>
        </>
      )}
    </div>
  );
}

/** Splits a draft with more files than a message may have. */
function sendDraft(
  sync: Sync,
  id: string,
  { text, files, replyTo }: Draft,
  mentions: readonly string[],
): void {
  sync.send(id, { text, mentions, files: files.slice(0, MAX_FILES), replyTo: replyTo?.id });
  for (let at = MAX_FILES; at < files.length; at += MAX_FILES)
    sync.send(id, { files: files.slice(at, at + MAX_FILES) });
}

/** Returns the edits that the server has refused, by message. */
function useRefusedEdits(): ReadonlyMap<string, EditOperation> {
  const { sync } = useSession();
  const operations = useView(sync.outbox());
  return useMemo(() => {
    const refused = operations.filter((each) => each.kind === "edit" && each.state === "failed");
    return new Map(refused.map((each) => [each.message_id!, each as EditOperation]));
  }, [operations]);
}

/**
 * Decides where the list scrolls: first to the `wanted` message or the line "New", later to a message that is jumped
 * to, or to the end.
 */
function useTarget(pages: Messages, newAfter: string | undefined, wanted: string | undefined) {
  const current = useRef<Target | undefined>(
    wanted === undefined ? undefined : { id: wanted, how: "marked", isFocused: true },
  );
  const latest = useRef(pages);
  latest.current = pages;
  const isBegun = useRef(wanted !== undefined);
  const { me } = useSession();
  if (!isBegun.current && !pages.loading && pages.items.length > 0) {
    isBegun.current = true;
    const first =
      newAfter !== undefined && pages.items.find((each) => each.id > newAfter && isNews(each, me.id));
    if (first) current.current = { id: first.id, how: "first" };
  }
  const redraw = useRedraw();
  return useMemo(
    () => ({
      current,
      show: (id: string, isFocused = true) => {
        current.current = { id, how: "marked", isFocused };
        // The page being loaded may not contain it.
        if (document.getElementById(id) && !latest.current.loading) redraw();
        else latest.current.open(id);
      },
      /** Makes a message take the focus once it is shown. Returns its id. */
      focus: (id: string) => {
        const target = current.current;
        if (target?.how === "marked" && target.id === id) current.current = { ...target, isFocused: true };
        return id;
      },
      toEnd: () => {
        current.current = { how: "end" };
        if (latest.current.hasNewer) latest.current.open();
        else redraw();
      },
    }),
    [],
  );
}

function useActions(parts: {
  id: string;
  kind: Pane["kind"];
  setEditing: (message: Message | undefined) => void;
  ask: (question: Question) => void;
  lookAt: (id: string) => void;
  jump: (id: string) => void;
  show: (user: User) => void;
}): MessageActions {
  const { drafts } = useSession();
  const people = usePeople();
  const copy = useCopy();
  const latest = useRef(parts);
  latest.current = parts;
  const toggle = useToggleReaction();
  const { id, kind, setEditing, ask, jump, show } = parts;
  return useMemo(() => {
    return {
      kind,
      react: (message) => ask({ kind: "react", message }),
      toggle,
      copy: ({ text }) => copy(text!, "Message copied."),
      showReaders: (message) => ask({ kind: "readers", message }),
      reply: (message) => {
        setEditing(undefined);
        drafts.change(id, { replyTo: message });
      },
      edit: setEditing,
      remove: (message) => ask({ kind: "remove", message }),
      jump,
      show,
      open: (file) => latest.current.lookAt(file.id),
      toPerson: (sender) => people.toPerson(sender),
      toName: (sender) => people.toPerson(sender).name,
    };
  }, [id, kind, drafts, toggle, copy, setEditing, ask, jump, show, people.version]);
}

function MessageDialog(
  props: Question & { items: readonly Message[]; actions: MessageActions; onClose: () => void },
) {
  const { kind, items, actions, onClose } = props;
  // It may have changed since the dialog opened.
  const message = items.find(({ id }) => id === props.message.id) ?? props.message;
  const close = () => {
    onClose();
    // The buttons of a message exist only while it has the focus or the mouse.
    focusContent(message.id);
  };
  if (kind === "remove") return <RemoveMessage message={message} kind={actions.kind} onClose={close} />;
  if (kind === "readers") return <Readers message={message} onClose={close} />;
  const choose = (emoji: string) => actions.toggle(message, emoji);
  return <ReactionPicker message={message} onChoose={choose} onClose={close} />;
}
