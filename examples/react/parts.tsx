import type { Connection, InboxEntry, Outgoing, Sync, SyncMessage } from "parley-sync";
import { type FormEvent, type ReactNode, useState } from "react";

interface EntryProps {
  entry: InboxEntry;
  isOpen: boolean;
  onOpen: (id: string) => void;
}

export function Entry({ entry, isOpen, onOpen }: EntryProps) {
  const { id, name, unread_count, last_message } = entry;
  return (
    <button type="button" aria-current={isOpen || undefined} onClick={() => onOpen(id)}>
      <b>{name ?? "Notes"}</b> {last_message && (last_message.text ?? "a file")}{" "}
      {unread_count > 0 && <mark>{unread_count}</mark>}
    </button>
  );
}

export function Log({ onOlder, children }: { onOlder: false | (() => void); children: ReactNode }) {
  return (
    <div className="log">
      <div role="log">{children}</div>
      {onOlder && (
        <button type="button" onClick={onOlder}>
          Older messages
        </button>
      )}
    </div>
  );
}

interface MessageProps {
  message: SyncMessage;
  sync: Sync;
  me: Connection["me"];
}

interface FileProps {
  file: SyncMessage["attachments"][number];
  sync: Sync;
}

export function Message({ message, sync, me }: MessageProps) {
  const { id, key, conversation_id, type, sender, text, state, reason, files, reactions } = message;
  const likes = reactions.find(({ emoji }) => emoji === "👍")?.user_ids ?? [];
  const isLiked = me !== null && likes.includes(me.id);
  const size = files.reduce((sum, { file_size }) => sum + file_size, 0);
  return (
    <article>
      <b>{sender?.username}</b> {type === "text" ? text : type}
      {message.attachments.map((file) => {
        const Shown = file.file_type.startsWith("image/") ? Picture : Download;
        return <Shown key={file.id} file={file} sync={sync} />;
      })}
      {size > 0 && <progress aria-label="Sent" value={message.sent_bytes} max={size} />}
      {state === "waiting" && <i>waiting</i>}
      {state === "failed" && (
        <>
          <i>{reason?.detail}</i>
          <button type="button" onClick={() => sync.retry(key)}>
            Retry
          </button>
          <button type="button" onClick={() => sync.discard(key)}>
            Discard
          </button>
        </>
      )}
      {state === "sent" && (
        <button
          type="button"
          aria-pressed={isLiked}
          onClick={() => sync.react(conversation_id, id, "👍", !isLiked)}
        >{`👍 ${likes.length}`}</button>
      )}
    </article>
  );
}

/** Uses a new link to a file. Does nothing if the server cannot be reached, or the file is gone. */
function withLink(sync: Sync, { id }: FileProps["file"], use: (url: string) => void): void {
  sync.client.attachments.retrieve(id).then(
    ({ file_url }) => use(file_url),
    () => {},
  );
}

function Picture({ file, sync }: FileProps) {
  const [url, setUrl] = useState(`${file.file_url}&width=320`);
  // The link has expired, or the server makes no previews.
  const renew = () => withLink(sync, file, setUrl);
  return <img src={url} alt={file.filename} onError={renew} />;
}

function Download({ file, sync }: FileProps) {
  // Links expire after an hour or two.
  const open = () => withLink(sync, file, (url) => location.assign(url));
  return (
    <button type="button" onClick={open}>
      {file.filename}
    </button>
  );
}

interface ComposerProps {
  typists: readonly string[];
  onSend: (outgoing: Outgoing) => void;
  onInput: () => void;
}

export function Composer({ typists, onSend, onInput }: ComposerProps) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const files = (form.getAll("files") as File[]).filter(({ name }) => name !== "");
    const text = String(form.get("text"));
    if (text || files.length > 0) onSend({ text, files });
    event.currentTarget.reset();
  };
  return (
    <form onSubmit={submit}>
      <output>{typists.length > 0 && "typing…"}</output>
      <input name="text" aria-label="Message" autoComplete="off" onInput={onInput} />
      <input name="files" aria-label="Files" type="file" multiple />
      <button type="submit">Send</button>
    </form>
  );
}
