// A message, and a message that is being sent.
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { Attachment, Message } from "../../../packages/parley-client/src/index.ts";
import { Thumbnail } from "../files/file-card.tsx";
import { toKind } from "../files/media.ts";
import { focusContent } from "../files/open-file.tsx";
import { SystemRow } from "../groups/system-row.tsx";
import { Avatar, toHueStyle, toOneLine } from "../people/people.tsx";
import { useSession } from "../session/session.ts";
import { formatClock, formatFullTime, formatSize } from "../ui/format.ts";
import { Icon } from "../ui/icons.tsx";
import { type MessageActions, MessageTools, useAttention } from "./message-tools.tsx";
import type { Outgoing } from "./outbox.ts";
import { Reactions } from "./reactions.tsx";
import { type Progress, Tick } from "./tick.tsx";

interface Row {
  message: Message;
  actions: MessageActions;
  /** Whether the user sent it. */
  own: boolean;
  /** Whether it continues the message above, without a name. */
  follows: boolean;
  /** The message replied to; null if deleted, undefined while loading. */
  quoted: Message | null | undefined;
  /** Undefined for messages of others and for notes to self. */
  progress: Progress | undefined;
}

/** Renders only when it changes, because there are hundreds. */
export function MessageRow(props: Row) {
  const { message, actions, own, follows, quoted, progress } = props;
  const toRow = () =>
    message.type === "text" ? <MessageView {...props} /> : <SystemRow message={message} actions={actions} />;
  return useMemo(toRow, [message, actions, own, follows, quoted, progress]);
}

function MessageView({ message, actions, own, follows, quoted, progress }: Row) {
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
          <MessageTools message={message} actions={actions} own={own} {...attention} />
        </>
      }
    >
      {reply_to_id !== null && (
        <Quote id={reply_to_id} quoted={quoted} actions={actions} isReachable={isReachable} />
      )}
      {attachments.length > 0 && (
        <ul class="message-files">
          {attachments.map((file, at) => (
            <MessageFile
              key={file.id}
              file={file}
              width={toWidth(at, attachments.length)}
              onOpen={() => actions.open(file)}
              isReachable={isReachable}
            />
          ))}
        </ul>
      )}
      <div class="message-end">
        {text !== null && <p class="message-text">{text}</p>}
        {text === null && attachments.length === 0 && <p class="message-text muted">{toOneLine(message)}</p>}
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

/** Returns the maximum width of a file, as in message-files.css. */
function toWidth(at: number, count: number): number {
  if (count === 1) return 280;
  return at === count - 1 && at % 2 === 0 ? 484 : 240;
}

const PICTURE_HEIGHT = 168;

function MessageFile(props: { file: Attachment; width: number; onOpen: () => void; isReachable: boolean }) {
  const { file, width, onOpen } = props;
  const isImage = toKind(file) === "image";
  return (
    <li>
      <button
        type="button"
        class={isImage ? "message-file image" : "message-file"}
        title={file.filename}
        tabIndex={props.isReachable ? 0 : -1}
        onClick={onOpen}
      >
        <span class="visually-hidden">Open {isImage && file.filename}</span>
        <span class="message-thumb">
          <Thumbnail key={file.file_url} file={file} box={{ width, height: PICTURE_HEIGHT }} />
        </span>
        {!isImage && <FileText name={file.filename} note={formatSize(file.file_size)} />}
      </button>
    </li>
  );
}

function FileText({ name, note }: { name: string; note: ComponentChildren }) {
  return (
    <span class="file-text">
      <span class="ellipsis">{name}</span>
      <span class="muted small">{note}</span>
    </span>
  );
}

export function OutgoingRow({ outgoing, actions }: { outgoing: Outgoing; actions: MessageActions }) {
  const { outbox, me } = useSession();
  const { id, text, files, replyTo, state, isHeldUp, error, isHopeless } = outgoing;
  /** Each action removes its own button. */
  const leave = (act: () => void) => {
    act();
    focusContent();
  };
  return (
    <MessageLine
      id={id}
      class={` outgoing ${state}`}
      own
      sender={me}
      actions={actions}
      isNamed
      isReachable={false}
    >
      {replyTo && (
        <p class="quote small">
          <strong>{actions.toName(replyTo.sender)}</strong> <span class="muted">{toOneLine(replyTo)}</span>
        </p>
      )}
      {files.length > 0 && <OutgoingFiles {...outgoing} />}
      <div class="message-end">
        {text && <p class="message-text">{text}</p>}
        {state === "failed" ? (
          <p class="message-foot failure" role="alert">
            Not sent. {error}
            {!isHopeless && (
              <button type="button" class="button" onClick={() => leave(() => outbox.retry(id))}>
                Try again
              </button>
            )}
            <button type="button" class="button" onClick={() => leave(() => outbox.discard(id))}>
              Discard
            </button>
          </p>
        ) : (
          <div class="message-wait">
            <p class={isHeldUp ? "message-foot muted" : "message-foot muted reading"}>
              {isHeldUp ? "Not sent yet, trying again" : "Sending…"}
              <button type="button" class="button" onClick={() => leave(() => outbox.discard(id))}>
                Cancel
              </button>
            </p>
            <Tick progress="waiting" />
          </div>
        )}
      </div>
    </MessageLine>
  );
}

function OutgoingFiles({ files, sent, state }: Outgoing) {
  const total = files.reduce((sum, { size }) => sum + size, 0);
  return (
    <>
      <ul class="message-files">
        {files.map((file, at) => (
          <li key={at} class="message-file">
            <span class="message-thumb">
              <Icon name="file" />
            </span>
            <FileText name={file.name} note={formatSize(file.size)} />
          </li>
        ))}
      </ul>
      {state === "sending" && (
        <progress max={Math.max(total, 1)} value={sent} aria-label="Files sent" class="message-progress" />
      )}
    </>
  );
}
