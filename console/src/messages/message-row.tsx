// A message, and a message that is being sent.
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { Message } from "../../../packages/parley-client/src/index.ts";
import type { EditOperation, Reason, SyncMessage } from "../../../packages/parley-sync/src/index.ts";
import { explain } from "../failures.ts";
import { focusContent } from "../files/open-file.tsx";
import { SystemRow } from "../groups/system-row.tsx";
import { Avatar, toHueStyle, toOneLine } from "../people/people.tsx";
import { toError } from "../session/copy.ts";
import { useSession } from "../session/session.ts";
import { formatClock, formatFullTime } from "../ui/format.ts";
import { MessageFiles, PendingFiles } from "./message-files.tsx";
import { MessageText } from "./message-text.tsx";
import { type MessageActions, MessageTools, useAttention } from "./message-tools.tsx";
import { Reactions } from "./reactions.tsx";
import { type Progress, Tick } from "./tick.tsx";

interface Row {
  message: SyncMessage;
  actions: MessageActions;
  /** Whether the user sent it. */
  own: boolean;
  /** Whether it continues the message above, without a name. */
  follows: boolean;
  /** The message replied to; null if deleted, undefined while loading. */
  quoted: Message | null | undefined;
  /** Undefined for messages of others and for notes to self. */
  progress: Progress | undefined;
  refusedEdit: EditOperation | undefined;
}

/** Renders only when it changes, because there are hundreds. */
export function MessageRow(props: Row) {
  const { message, actions, own, follows, quoted, progress, refusedEdit } = props;
  const toRow = () =>
    message.type === "text" ? <MessageView {...props} /> : <SystemRow message={message} actions={actions} />;
  return useMemo(toRow, [message, actions, own, follows, quoted, progress, refusedEdit]);
}

function MessageView({ message, actions, own, follows, quoted, progress, refusedEdit }: Row) {
  const { me } = useSession();
  const { listeners, ...attention } = useAttention();
  const isMentioned = !own && message.mentions.includes(me.id);
  const { id, text, attachments, created_at, edited_at, reply_to_id } = message;
  const isReachable = attention.isFocused;
  return (
    <MessageLine
      id={id}
      class={`${follows ? " follows" : ""}${isMentioned ? " mentioned" : ""}`}
      own={own}
      sender={message.sender}
      actions={actions}
      isNamed={!follows}
      isReachable={isReachable}
      listeners={listeners}
      after={
        <>
          <Reactions message={message} actions={actions} isReachable={isReachable} />
          <MessageTools message={message} actions={actions} {...attention} />
        </>
      }
    >
      {reply_to_id !== null && (
        <Quote id={reply_to_id} quoted={quoted} actions={actions} isReachable={isReachable} />
      )}
      {attachments.length > 0 && (
        <MessageFiles files={attachments} onOpen={actions.open} isReachable={isReachable} />
      )}
      {message.files.length > 0 && <PendingFiles message={message} />}
      <div class="message-end">
        {text !== null && <MessageText message={{ ...message, text }} isReachable={isReachable} />}
        {message.files.length > 0 && <Sending message={message} isHeldUp={message.reason !== null} />}
        {refusedEdit && (
          <Refused
            doing={
              refusedEdit.text === null
                ? "The text was not removed."
                : `“${refusedEdit.text}” did not replace it.`
            }
            name={refusedEdit.key}
            reason={refusedEdit.reason}
          />
        )}
        {text === null && attachments.length === 0 && message.files.length === 0 && (
          <p class="message-text muted">{toOneLine(message)}</p>
        )}
        <p class="message-foot muted">
          {isMentioned && <strong>Mentions you</strong>}
          {edited_at !== null && <span title={formatFullTime(edited_at)}>Edited</span>}
          <time class="message-time" title={formatFullTime(created_at)}>
            {formatClock(created_at)}
          </time>
          {progress && <Tick progress={progress} />}
        </p>
      </div>
    </MessageLine>
  );
}

/** A message as a bubble. In groups, messages of others show the sender's picture. */
function MessageLine(props: {
  id: string;
  class: string;
  own: boolean;
  sender: Message["sender"];
  actions: MessageActions;
  /** Whether the sender's name is above it: always for screen readers, visible only in groups. */
  isNamed: boolean;
  /** Whether Tab reaches its buttons. */
  isReachable: boolean;
  listeners?: ReturnType<typeof useAttention>["listeners"];
  /** Shown with the message, but not part of it. */
  after?: ComponentChildren;
  children: ComponentChildren;
}) {
  const { own, sender, actions, isNamed } = props;
  const person = actions.toPerson(sender);
  const { name } = person;
  const isSided = actions.kind === "group" && !own;
  return (
    <li
      id={props.id}
      class={`message${own ? " own" : ""}${isSided ? " sided" : ""}${props.class}`}
      tabIndex={-1}
      {...props.listeners}
    >
      {isSided && isNamed && (
        // For the mouse: the name does the same.
        <button
          type="button"
          class="sender-picture"
          tabIndex={-1}
          aria-hidden="true"
          disabled={sender === null}
          onClick={() => sender && actions.show(sender)}
        >
          <Avatar {...person} size="small" />
        </button>
      )}
      <div class="message-body">
        <div class="bubble">
          {isNamed && (
            <p class={isSided ? "message-head" : "visually-hidden"}>
              <strong class="ellipsis sender" style={toHueStyle(person.seed)}>
                {isSided && sender ? (
                  <button
                    type="button"
                    class="sender-name"
                    title={`About ${name}`}
                    tabIndex={props.isReachable ? 0 : -1}
                    onClick={() => actions.show(sender)}
                  >
                    {name}
                  </button>
                ) : (
                  name
                )}
              </strong>
            </p>
          )}
          {props.children}
        </div>
        {props.after}
      </div>
    </li>
  );
}

function Quote(props: {
  id: string;
  quoted: Message | null | undefined;
  actions: MessageActions;
  isReachable: boolean;
}) {
  const { id, quoted, actions } = props;
  if (!quoted) return <p class="quote muted small">{quoted === null ? "Deleted message" : "Loading…"}</p>;
  const name = actions.toName(quoted.sender);
  return (
    <button
      type="button"
      class="quote small"
      tabIndex={props.isReachable ? 0 : -1}
      aria-label={`Go to the message of ${name}: ${toOneLine(quoted)}`}
      onClick={() => actions.jump(id)}
    >
      <strong>{name}</strong> <span class="muted">{toOneLine(quoted)}</span>
    </button>
  );
}

/** A message that the server does not have yet. */
export function OutgoingRow(props: {
  message: SyncMessage;
  actions: MessageActions;
  isHeldUp: boolean;
  quoted: Message | null | undefined;
}) {
  const { message, actions, quoted } = props;
  const { me } = useSession();
  return (
    <MessageLine
      id={message.id}
      class={` outgoing ${message.state}`}
      own
      sender={me}
      actions={actions}
      isNamed
      isReachable={false}
    >
      {quoted && (
        <p class="quote small">
          <strong>{actions.toName(quoted.sender)}</strong> <span class="muted">{toOneLine(quoted)}</span>
        </p>
      )}
      {message.files.length > 0 && <PendingFiles message={message} />}
      <div class="message-end">
        {message.text && <MessageText message={{ ...message, text: message.text }} isReachable={false} />}
        <Sending message={message} isHeldUp={props.isHeldUp} />
      </div>
    </MessageLine>
  );
}

/** How far a message has come that is not sent as a whole. */
function Sending({ message, isHeldUp }: { message: SyncMessage; isHeldUp: boolean }) {
  const { sync } = useSession();
  const { key, state, reason } = message;
  if (state === "failed") return <Refused doing="Not sent." name={key} reason={reason} />;
  return (
    <div class="message-wait">
      <p class={isHeldUp ? "message-foot muted" : "message-foot muted reading"}>
        {isHeldUp ? "Not sent yet, trying again" : "Sending…"}
        <button type="button" class="button" onClick={() => leave(sync.discard(key))}>
          Cancel
        </button>
      </p>
      <Tick progress="waiting" />
    </div>
  );
}

/** After these errors another attempt would also be refused. */
const HOPELESS = ["source_changed", "file_too_large", "unexpected"];

/** `name`: of the operation. */
function Refused(props: { doing: string; name: string; reason: Reason | null }) {
  const { doing, name, reason } = props;
  const { sync } = useSession();
  const isReply = reason?.param === "reply_to_id";
  return (
    <p class="message-foot failure" role="alert">
      {doing} {isReply ? "The message that it replies to was deleted." : explain(toError(reason))}
      {!HOPELESS.includes(reason?.code ?? "") && (
        <button type="button" class="button" onClick={() => leave(sync.retry(name))}>
          Try again
        </button>
      )}
      <button type="button" class="button" onClick={() => leave(sync.discard(name))}>
        Discard
      </button>
    </p>
  );
}

/** Each action removes its own button. */
async function leave(done: Promise<void>): Promise<void> {
  await done.catch(() => {});
  focusContent();
}
