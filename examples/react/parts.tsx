import type { Connection, InboxEntry, Outgoing, Sync, SyncMessage } from "parley-sync";
import { type FormEvent, useState } from "react";

export function Entry({ entry, onOpen }: { entry: InboxEntry; onOpen: () => void }) {
  const { name, unread_count, last_message } = entry;
  return (
    <button type="button" onClick={onOpen}>
      <b>{name ?? "Notes"}</b> {last_message && (last_message.text ?? "a file")}
      {unread_count > 0 && <mark>{unread_count}</mark>}
    </button>
  );
}

interface MessageProps {
  message: SyncMessage;
  sync: Sync;
  me: Connection["me"];
}

export function Message({ message, sync, me }: MessageProps) {
  const { id, key, conversation_id, sender, text, state, reason, attachments, files, reactions } = message;
  const likes = reactions.find(({ emoji }) => emoji === "👍")?.user_ids ?? [];
  const isLiked = me !== null && likes.includes(me.id);
  const size = files.reduce((sum, { file_size }) => sum + file_size, 0);
  return (
    <p>
      <b>{sender?.username}</b> {text}
      {attachments.map((file) => (
        <Preview key={file.id} file={file} sync={sync} />
      ))}
      {size > 0 && <progress value={message.sent_bytes} max={size} />}
      {state === "waiting" && <i>waiting</i>}
      {state === "failed" && (
        <button type="button" onClick={() => sync.retry(key)}>{`Retry: ${reason?.detail}`}</button>
      )}
      {state === "sent" && (
        <button
          type="button"
          aria-pressed={isLiked}
          onClick={() => sync.react(conversation_id, id, "👍", !isLiked)}
        >{`👍 ${likes.length}`}</button>
      )}
    </p>
  );
}

function Preview({ file, sync }: { file: SyncMessage["attachments"][number]; sync: Sync }) {
  const [url, setUrl] = useState(file.file_url);
  const [isSmall, setIsSmall] = useState(true);
  if (!file.file_type.startsWith("image/")) return <a href={url}>{file.filename}</a>;
  // The link has expired, or the server makes no previews.
  const replace = async () => {
    setIsSmall(false);
    setUrl((await sync.client.attachments.retrieve(file.id)).file_url);
  };
  return <img src={isSmall ? `${url}&width=320` : url} alt={file.filename} onError={replace} />;
}

export function Composer({ onSend, onInput }: { onSend: (outgoing: Outgoing) => void; onInput: () => void }) {
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
      <input name="text" aria-label="Message" autoComplete="off" onInput={onInput} />
      <input name="files" aria-label="Files" type="file" multiple />
      <button type="submit">Send</button>
    </form>
  );
}
