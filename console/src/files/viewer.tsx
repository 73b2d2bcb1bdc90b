// The file viewer: one file, large, and its actions.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { useSession } from "../session/session.ts";
import { Dialog } from "../ui/dialog.tsx";
import { NameField } from "../ui/editable.tsx";
import { formatClock, formatDay, formatFullTime, formatSize } from "../ui/format.ts";
import { Icon, IconButton, type IconName } from "../ui/icons.tsx";
import { hasModifier } from "../ui/keys.ts";
import { isEditable, type SharedFile, useCopyLink, useRename } from "./file-actions.ts";
import { DownloadLink, ScanMark } from "./file-card.tsx";
import { toTypeName } from "./media.ts";
import { Stage } from "./stage.tsx";
import type { OnKey } from "./zoom.tsx";

type Step = (() => void) | undefined;

interface Steps {
  previous: Step;
  next: Step;
  first: Step;
  last: Step;
}

/** How far a finger must move to step to another file, in pixels. */
const SWIPE = 60;

export function Viewer(props: {
  file: SharedFile;
  /** The name of the sender; empty if it is obvious. */
  sender: string;
  /** "3 of 14"; empty if unknown. */
  position: string;
  steps: Steps;
  onRemove: () => void;
  onClose: () => void;
}) {
  const { file, steps, position } = props;
  const onKey: OnKey = useRef(undefined);
  useKeys(steps, onKey);
  const [isRenaming, setRenaming] = useState(false);
  return (
    <Dialog title={file.filename} onClose={props.onClose} wide>
      <div class="stage" {...useSwipe(steps)}>
        <Stage key={file.id} file={file} onKey={onKey} />
      </div>
      <div class="stage-foot">
        {isRenaming ? (
          <Rename key={file.id} file={file} onEnd={() => setRenaming(false)} />
        ) : (
          <p class="stage-about small">
            <strong class="ellipsis">{props.sender}</strong>
            <span class="muted">{formatSize(file.file_size)}</span>
            <span class="muted" title={file.file_type}>
              {toTypeName(file)}
            </span>
            <time class="muted" title={formatFullTime(file.created_at)}>
              {formatDay(file.created_at)}, {formatClock(file.created_at)}
            </time>
            <ScanMark file={file} />
          </p>
        )}
        <span class="stage-steps">
          <StepButton icon="back" label="Previous" step={steps.previous} />
          <span class="small" role="status">
            {position}
          </span>
          <StepButton icon="next" label="Next" step={steps.next} />
        </span>
        <Tools file={file} onRename={() => setRenaming(true)} onRemove={props.onRemove} />
      </div>
    </Dialog>
  );
}

/** Stays when there is no other file, so that it keeps the focus. */
function StepButton({ icon, label, step }: { icon: IconName; label: string; step: Step }) {
  return (
    <button
      type="button"
      class="icon-button"
      aria-label={label}
      title={label}
      aria-disabled={!step}
      onClick={step}
    >
      <Icon name={icon} />
    </button>
  );
}

/** Offers only actions that can succeed. */
function Tools(props: { file: SharedFile; onRename: () => void; onRemove: () => void }) {
  const { file } = props;
  const session = useSession();
  const copyLink = useCopyLink();
  return (
    <span class="stage-tools">
      {isEditable(file, session) && (
        <>
          <IconButton icon="edit" label="Rename" onClick={props.onRename} />
          <IconButton icon="trash" label="Delete" danger onClick={props.onRemove} />
        </>
      )}
      <IconButton icon="copy" label="Copy link" onClick={() => copyLink(file)} />
      <DownloadLink file={file} named />
    </span>
  );
}

function Rename({ file, onEnd }: { file: SharedFile; onEnd: () => void }) {
  const rename = useRename();
  const dot = file.filename.lastIndexOf(".");
  const end = () => {
    onEnd();
    requestAnimationFrame(() => document.querySelector<HTMLElement>(".stage-tools button")?.focus());
  };
  return (
    <NameField
      value={file.filename}
      what="file"
      {...(dot > 0 && { selectUpTo: dot })}
      onSave={(filename) => rename(file, filename)}
      onEnd={end}
    />
  );
}

/** Steps with the arrow keys, Home and End, unless the focused element uses them. */
function useKeys(steps: Steps, onKey: OnKey): void {
  const latest = useRef(steps);
  latest.current = steps;
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const { target } = event;
      if (event.defaultPrevented || hasModifier(event)) return;
      if (target instanceof Element && target.closest("video, audio, input, .stage-text, iframe")) return;
      // A confirmation may be open on top.
      if (document.querySelectorAll("dialog").length > 1) return;
      const { previous, next, first, last } = latest.current;
      const moves: Record<string, Step> = { ArrowLeft: previous, ArrowRight: next, Home: first, End: last };
      if (!onKey.current?.(event.key)) {
        if (!(event.key in moves)) return;
        moves[event.key]?.();
      }
      event.preventDefault();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, [onKey]);
}

/** Steps on a horizontal swipe. Returns the event listeners to attach. */
function useSwipe({ previous, next }: Steps) {
  const start = useRef<{ x: number; y: number } | undefined>(undefined);
  return {
    onPointerDown: ({ pointerType, isPrimary, target, clientX, clientY }: PointerEvent) => {
      const isSwipe = pointerType === "touch" && isPrimary && !(target as Element).closest("video, audio");
      start.current = isSwipe ? { x: clientX, y: clientY } : undefined;
    },
    onPointerUp: ({ clientX, clientY }: PointerEvent) => {
      const from = start.current;
      start.current = undefined;
      if (!from) return;
      const across = clientX - from.x;
      if (Math.abs(across) < SWIPE || Math.abs(across) < 2 * Math.abs(clientY - from.y)) return;
      (across < 0 ? next : previous)?.();
    },
    onPointerCancel: () => {
      start.current = undefined;
    },
  };
}
