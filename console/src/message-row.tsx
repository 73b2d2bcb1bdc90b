// One message, and one that is on its way.
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { Attachment, Message } from "../../client/src/index.ts";
import { Thumbnail } from "./file-card.tsx";
import { formatClock, formatFullTime, formatSize, toHue } from "./format.ts";
import { SystemRow } from "./groups/system-row.tsx";
import { Icon } from "./icons.tsx";
import { toKind } from "./media.ts";
import { type MessageActions, MessageTools, useAttention } from "./message-tools.tsx";
import { focusContent } from "./open-file.tsx";
import type { Outgoing } from "./outbox.ts";
import { Avatar, toPreview } from "./people.tsx";
import { Reactions } from "./reactions.tsx";
import { useSession } from "./session.ts";
import { type Progress, Tick } from "./tick.tsx";

interface Row {
  message: Message;
  actions: MessageActions;
  /** Sent by the user. */
  own: boolean;
  /** Whether it goes on after the message above: without its own name. */
  follows: boolean;
  /** The message replied to; null if it is gone, undefined while it loads. */
  quoted: Message | null | undefined;
  /** Undefined for messages of others, and for notes to self. */
  progress: Progress | undefined;
}

/** Renders only if something of it has changed, because there are hundreds. */
export function MessageRow(props: Row) {
  const { message, actions, own, follows, quoted, progress } = props;
  const toRow = () =>
    message.type === "text" ? <MessageView {...props} /> : <SystemRow message={message} actions={actions} />;
  return useMemo(toRow, [message, actions, own, follows, quoted, progress]);
}

function MessageView({ message, actions, own, follows, quoted, progress }: Row) {
  const { me } = useSession();
  const { hasAttention, listeners } = useAttention();
  const isMentioned = !own && message.mentions.includes(me.id);
  const { id, text, attachments, created_at, edited_at, reply_to_id } = message;
  const name = actions.toName(message.sender);
  return (
    <li
      id={id}
      class={`message${own ? " own" : ""}${follows ? " follows" : ""}${isMentioned ? " mentioned" : ""}`}
      tabIndex={-1}
      {...listeners}
    >
      <Head name={name} seed={toSeed(message.sender, actions)} follows={follows} seconds={created_at} />
      {reply_to_id !== null && <Quote id={reply_to_id} quoted={quoted} actions={actions} />}
      {text !== null && <p class="message-text">{text}</p>}
      {text === null && attachments.length === 0 && <p class="muted">{toPreview(message)}</p>}
      {attachments.length > 0 && (
        <ul class="message-files">
          {attachments.map((file) => (
            <MessageFile key={file.id} file={file} onOpen={() => actions.open(file)} />
          ))}
        </ul>
      )}
      {(edited_at !== null || isMentioned) && (
        <p class="message-foot muted small">
          {isMentioned && <strong>Mentions you</strong>}
          {edited_at !== null && <span title={formatFullTime(edited_at)}>Edited</span>}
        </p>
      )}
      {progress && <Tick progress={progress} />}
      <Reactions message={message} actions={actions} />
      {hasAttention && <MessageTools message={message} actions={actions} own={own} />}
    </li>
  );
}

/** Returns what decides the colour of a sender: in a group it never changes, and is the same for everyone. */
function toSeed(sender: Message["sender"], { kind }: MessageActions): string | undefined {
  return kind === "group" && sender ? sender.id : undefined;
}

function Head(props: { name: string; seed: string | undefined; follows: boolean; seconds: number }) {
  const { name, seed, follows, seconds } = props;
  const time = (
    <time class="message-time muted small" title={formatFullTime(seconds)}>
      {formatClock(seconds)}
    </time>
  );
  if (follows) return <span class="message-side">{time}</span>;
  return (
    <>
      <span class="message-side">
        <Avatar name={name} seed={seed} />
      </span>
      <p class="message-head">
        <strong class={seed ? `ellipsis sender hue-${toHue(seed)}` : "ellipsis"}>{name}</strong> {time}
      </p>
    </>
  );
}

function Quote(props: { id: string; quoted: Message | null | undefined; actions: MessageActions }) {
  const { id, quoted, actions } = props;
  if (!quoted) return <p class="quote muted small">{quoted === null ? "Deleted message" : "Loading…"}</p>;
  const name = actions.toName(quoted.sender);
  return (
    <button
      type="button"
      class="quote small"
      aria-label={`Go to the message of ${name}: ${toPreview(quoted)}`}
      onClick={() => actions.jump(id)}
    >
      <strong>{name}</strong> <span class="muted">{toPreview(quoted)}</span>
    </button>
  );
}

function MessageFile({ file, onOpen }: { file: Attachment; onOpen: () => void }) {
  const isImage = toKind(file.file_type) === "image";
  return (
    <li>
      <button
        type="button"
        class={isImage ? "message-file image" : "message-file"}
        title={file.filename}
        onClick={onOpen}
      >
        <span class="visually-hidden">Open {isImage && file.filename}</span>
        <span class="message-thumb">
          <Thumbnail key={file.file_url} file={file} />
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
  const name = actions.toName(me);
  const { id, text, files, replyTo, state, isHeldUp, error } = outgoing;
  /** Each of the buttons disappears. */
  const leave = (act: () => void) => {
    act();
    focusContent();
  };
  return (
    <li id={id} class={`message own outgoing ${state}`} tabIndex={-1}>
      <span class="message-side">
        <Avatar name={name} seed={toSeed(me, actions)} />
      </span>
      <p class="message-head">
        <strong class="ellipsis">{name}</strong>
      </p>
      {replyTo && (
        <p class="quote small">
          <strong>{actions.toName(replyTo.sender)}</strong> <span class="muted">{toPreview(replyTo)}</span>
        </p>
      )}
      {text && <p class="message-text">{text}</p>}
      {files.length > 0 && <OutgoingFiles {...outgoing} />}
      {state !== "failed" && <Tick progress="waiting" />}
      {state === "failed" ? (
        <p class="message-foot failure small" role="alert">
          Not sent. {error}
          <button type="button" class="button" onClick={() => leave(() => outbox.retry(id))}>
            Try again
          </button>
          <button type="button" class="button" onClick={() => leave(() => outbox.discard(id))}>
            Discard
          </button>
        </p>
      ) : (
        <p class={isHeldUp ? "message-foot muted small" : "message-foot muted small reading"}>
          {isHeldUp ? "Not sent yet, trying again" : "Sending…"}
          <button type="button" class="button" onClick={() => leave(() => outbox.discard(id))}>
            Cancel
          </button>
        </p>
      )}
    </li>
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
