// One file of the list, as a card of the grid or as a row.
import { useMemo, useState } from "preact/hooks";
import type { Attachment } from "../../../packages/parley-client/src/index.ts";
import { useAttention } from "../messages/message-tools.tsx";
import { localAddress } from "../session/session.ts";
import { EditableName, NameField } from "../ui/editable.tsx";
import { formatFullTime, formatSize, formatTime } from "../ui/format.ts";
import { Icon, IconButton } from "../ui/icons.tsx";
import type { SharedFile } from "./file-actions.ts";
import { KIND_ICONS, toExtension, toKind } from "./media.ts";
import { type Box, isPreviewable, Picture } from "./picture.tsx";

/** Always the same object, to avoid rendering cards again. */
export interface FileActions {
  /** Opens the file, or selects it. */
  press: (file: SharedFile, event: MouseEvent) => void;
  open: (file: SharedFile) => void;
  select: (file: SharedFile, isRange: boolean) => void;
  rename: (file: SharedFile, filename: string) => Promise<boolean>;
  copyLink: (file: SharedFile) => void;
  remove: (file: SharedFile) => void;
}

interface Content {
  file: SharedFile;
  actions: FileActions;
  /** Who sent it, or where; empty if that is obvious. */
  about: string;
  /** Whether it can be renamed and deleted. */
  isEditable: boolean;
  /** The size of the picture. */
  thumb: Box;
  isSelected: boolean;
  /** Whether Tab reaches the card. */
  isActive: boolean;
  /** Called when the field for a new name closes; undefined if it is not open. */
  onRenameEnd: (() => void) | undefined;
}

/** Renders only when it changes, because there are many. */
export function FileCard(props: Content & { at: number; style: Record<string, string> }) {
  const { file, actions, about, isEditable, thumb, isSelected, isActive, onRenameEnd } = props;
  const { hasAttention, listeners } = useAttention();
  const content = useMemo(
    () => <CardContent {...props} hasAttention={hasAttention} />,
    [file, actions, about, isEditable, thumb, isSelected, isActive, hasAttention, onRenameEnd],
  );
  return (
    <div
      id={file.id}
      class={isSelected ? "card selected" : "card"}
      role="row"
      aria-rowindex={props.at + 1}
      style={props.style}
      {...listeners}
    >
      <div class="card-cell" role="gridcell" aria-selected={isSelected}>
        {content}
      </div>
    </div>
  );
}

function CardContent(props: Content & { hasAttention: boolean }) {
  const { file, actions, about, isEditable, isSelected, hasAttention, onRenameEnd } = props;
  const { filename } = file;
  const dot = filename.lastIndexOf(".");
  const name = {
    value: filename,
    what: "file",
    ...(dot > 0 && { selectUpTo: dot }),
    onSave: (filename: string) => actions.rename(file, filename),
  };
  return (
    <>
      <button
        type="button"
        class="thumb"
        aria-label={`Open ${filename}`}
        title={filename}
        tabIndex={props.isActive ? 0 : -1}
        onClick={(event) => actions.press(file, event)}
      >
        <Thumbnail key={file.file_url} file={file} box={props.thumb} />
      </button>
      {/* Not a tab stop: Space selects. */}
      <button
        type="button"
        class="card-check"
        role="checkbox"
        aria-checked={isSelected}
        aria-label={`Select ${filename}`}
        tabIndex={-1}
        onClick={(event) => actions.select(file, event.shiftKey)}
      >
        <Icon name="check" />
      </button>
      <div class="card-text">
        {onRenameEnd ? (
          <NameField {...name} onEnd={onRenameEnd} />
        ) : (
          <EditableName {...name} readOnly={!isEditable || !hasAttention} />
        )}
        <span class="card-about muted small">
          {about && (
            <span class="card-sender ellipsis" title={about}>
              {about}
            </span>
          )}
          <span class="card-size">{formatSize(file.file_size)}</span>
          <time title={formatFullTime(file.created_at)}>{formatTime(file.created_at)}</time>
          <ScanMark file={file} />
        </span>
      </div>
      {hasAttention && <CardTools {...props} />}
    </>
  );
}

function CardTools({ file, actions, isEditable }: Content) {
  const { filename } = file;
  return (
    <span class="card-tools">
      <IconButton icon="copy" label={`Copy the link of ${filename}`} onClick={() => actions.copyLink(file)} />
      <DownloadLink file={file} />
      {isEditable && (
        <IconButton icon="trash" label={`Delete ${filename}`} danger onClick={() => actions.remove(file)} />
      )}
    </span>
  );
}

export function ScanMark({ file }: { file: Attachment }) {
  return file.unscanned ? <span class="unscanned">Not scanned for viruses</span> : null;
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
      {named && <span class="only-wide">Download</span>}
    </a>
  );
}

export function Thumbnail({ file, box }: { file: Attachment; box: Box }) {
  const [broken, setBroken] = useState(false);
  const kind = toKind(file);
  if (kind === "image" && !broken && isPreviewable(file))
    return <Picture file={file} box={box} onFail={() => setBroken(true)} />;
  return (
    <span class={`thumb-icon kind-${kind}`}>
      <Icon name={KIND_ICONS[kind]} />
      <span class="ending">{toExtension(file.filename)}</span>
    </span>
  );
}
