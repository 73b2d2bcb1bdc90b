import { useMemo, useState } from "preact/hooks";
import type { Attachment } from "../../client/src/index.ts";
import { EditableName } from "./editable.tsx";
import { formatFullTime, formatSize, formatTime } from "./format.ts";
import { Icon, IconButton } from "./icons.tsx";
import { KIND_ICONS, toExtension, toKind } from "./media.ts";
import { localAddress } from "./session.ts";

/** The largest image, in bytes, that gets a thumbnail. */
const MAX_THUMBNAIL = 20_000_000;

export interface FileActions {
  open: (file: Attachment) => void;
  rename: (file: Attachment, filename: string) => Promise<boolean>;
  copyLink: (file: Attachment) => void;
  remove: (file: Attachment) => void;
}

interface Card {
  file: Attachment;
  actions: FileActions;
  /** Another user uploaded it: it cannot be renamed or deleted. */
  foreign: boolean;
}

/** Renders only if the file has changed, because there may be a thousand. */
export function FileCard(props: Card) {
  const { file, actions, foreign } = props;
  return useMemo(() => <CardView {...props} />, [file, actions, foreign]);
}

function CardView({ file, actions, foreign }: Card) {
  const dot = file.filename.lastIndexOf(".");
  return (
    <li class="card" id={file.id}>
      <button
        type="button"
        class="thumb"
        aria-label={`Open ${file.filename}`}
        onClick={() => actions.open(file)}
      >
        <Thumbnail key={file.file_url} file={file} />
      </button>
      <div class="card-text">
        <EditableName
          value={file.filename}
          what="file"
          readOnly={foreign}
          {...(dot > 0 && { selectUpTo: dot })}
          onSave={(filename) => actions.rename(file, filename)}
        />
        <div class="card-foot">
          <span class="muted small ellipsis" title={formatFullTime(file.created_at)}>
            {formatSize(file.file_size)} · {formatTime(file.created_at)}
          </span>
          <span class="card-actions">
            <IconButton
              icon="copy"
              label={`Copy the link of ${file.filename}`}
              onClick={() => actions.copyLink(file)}
            />
            <DownloadLink file={file} />
            {!foreign && (
              <IconButton
                icon="trash"
                label={`Delete ${file.filename}`}
                danger
                onClick={() => actions.remove(file)}
              />
            )}
          </span>
        </div>
      </div>
    </li>
  );
}

export function DownloadLink({ file, named }: { file: Attachment; named?: boolean }) {
  const label = `Download ${file.filename}`;
  return (
    <a
      class={named ? "button primary" : "icon-button"}
      href={localAddress(file.file_url, "&download=1")}
      download={file.filename}
      aria-label={label}
      title={label}
    >
      <Icon name="download" />
      {named && "Download"}
    </a>
  );
}

export function Thumbnail({ file }: { file: Attachment }) {
  const [broken, setBroken] = useState(false);
  const kind = toKind(file.file_type);
  if (kind === "image" && !broken && file.file_size <= MAX_THUMBNAIL) {
    return (
      <img
        src={localAddress(file.file_url)}
        alt=""
        loading="lazy"
        decoding="async"
        onError={() => setBroken(true)}
      />
    );
  }
  return (
    <span class={`thumb-icon kind-${kind}`}>
      <Icon name={KIND_ICONS[kind]} />
      <span class="ending">{toExtension(file.filename)}</span>
    </span>
  );
}
