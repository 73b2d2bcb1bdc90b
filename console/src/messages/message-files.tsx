// The files of a message.
import type { ComponentChildren } from "preact";
import type { Attachment } from "../../../packages/parley-client/src/index.ts";
import type { PendingFile, SyncMessage } from "../../../packages/parley-sync/src/index.ts";
import { Thumbnail } from "../files/file-card.tsx";
import { toKind } from "../files/media.ts";
import { AudioPlayer, VideoPlayer } from "../files/player.tsx";
import { formatSize } from "../ui/format.ts";
import { Icon } from "../ui/icons.tsx";

interface Shown {
  file: Attachment;
  onOpen: () => void;
  /** Whether Tab reaches its buttons. */
  isReachable: boolean;
}

export function MessageFiles(props: {
  files: readonly Attachment[];
  onOpen: (file: Attachment) => void;
  isReachable: boolean;
}) {
  const { files, onOpen, isReachable } = props;
  return (
    <ul class="message-files">
      {files.map((file, at) => (
        <li key={file.id}>
          <MessageFile
            file={file}
            width={toWidth(at, files.length)}
            onOpen={() => onOpen(file)}
            isReachable={isReachable}
          />
        </li>
      ))}
    </ul>
  );
}

/** Returns the maximum width of a file, as in message-files.css. */
function toWidth(at: number, count: number): number {
  if (count === 1) return 280;
  return at === count - 1 && at % 2 === 0 ? 484 : 240;
}

const PICTURE_HEIGHT = 168;

function MessageFile({ width, ...props }: Shown & { width: number }) {
  const { file, onOpen, isReachable } = props;
  const kind = file.file_size === 0 ? "file" : toKind(file);
  if (kind === "audio") return <AudioPlayer {...props} />;
  if (kind === "video") return <VideoPlayer {...props} />;
  const isImage = kind === "image";
  return (
    <button
      type="button"
      class={isImage ? "message-file image" : "message-file"}
      title={file.filename}
      tabIndex={isReachable ? 0 : -1}
      onClick={onOpen}
    >
      <span class="visually-hidden">Open {isImage && file.filename}</span>
      <span class="message-thumb">
        <Thumbnail key={file.file_url} file={file} box={{ width, height: PICTURE_HEIGHT }} />
      </span>
      {!isImage && <FileText name={file.filename} note={formatSize(file.file_size)} />}
    </button>
  );
}

function FileText({ name, note }: { name: string; note: ComponentChildren }) {
  return (
    <span class="file-text">
      <span class="file-name">{name}</span>
      <span class="muted small">{note}</span>
    </span>
  );
}

export function PendingFiles({
  message: { files, attachments, sent_bytes, state },
}: {
  message: SyncMessage;
}) {
  const isThere = ({ filename, file_size }: PendingFile) =>
    attachments.some((file) => file.filename === filename && file.file_size === file_size);
  const total = files.reduce((sum, { file_size }) => sum + file_size, 0);
  return (
    <>
      <ul class="message-files">
        {files
          .filter((file) => !isThere(file))
          .map(({ filename, file_size }, at) => (
            <li key={at} class="message-file">
              <span class="message-thumb">
                <Icon name="file" />
              </span>
              <FileText name={filename} note={formatSize(file_size)} />
            </li>
          ))}
      </ul>
      {state === "sending" && (
        <progress
          max={Math.max(total, 1)}
          value={sent_bytes}
          aria-label="Files sent"
          class="message-progress"
        />
      )}
    </>
  );
}
