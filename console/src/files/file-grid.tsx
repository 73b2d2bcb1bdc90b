// The files as a grid or a list. Renders only what is in view, so that 10,000 files scroll as fast as ten. One tab
// stop; the arrow keys move between files.
import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useSession } from "../session/session.ts";
import { ContextMenu } from "../ui/context-menu.tsx";
import { Icon } from "../ui/icons.tsx";
import { hasModifier } from "../ui/keys.ts";
import { MenuItem } from "../ui/menu.tsx";
import { useKeptPlace, useSeen } from "../ui/use-scrolling.ts";
import { isEditable, type SharedFile, useDownload } from "./file-actions.ts";
import { type FileActions, FileCard } from "./file-card.tsx";
import { type Line, type Sort, toLine, toLines, toShape, type View } from "./file-order.ts";
import type { Selection } from "./use-selection.ts";

/** How far outside the view to render files, in pixels, to avoid gaps while scrolling. */
const SPARE = 800;

export interface Grid {
  files: SharedFile[];
  label: string;
  view: View;
  sort: Sort;
  /** Identifies the list: when it changes, the list scrolls to its top. */
  what: string;
  /** Whether there are more files. */
  hasMore: boolean;
  selection: Selection;
  actions: FileActions;
  /** Describes a file on its card; empty if there is nothing to say. */
  toAbout: (file: SharedFile) => string;
  /** Called after each render with the files that it shows. */
  onSeen: ((files: SharedFile[]) => void) | undefined;
  /** The id of the open file. */
  opened: string | undefined;
  onRemove: (files: SharedFile[]) => void;
  /** Shows a file where it was sent; undefined if it is there already. */
  onShow: ((file: SharedFile) => void) | undefined;
  /** Shown after the files. */
  children: ComponentChildren;
}

export function FileGrid(props: Grid) {
  const { files, view, selection, actions } = props;
  const session = useSession();
  const box = useRef<HTMLDivElement>(null);
  const seen = useSeen(box);
  const shape = useMemo(() => toShape(view, seen.width), [view, seen.width]);
  const lines = useMemo(() => toLines(files, shape, props.sort), [files, shape, props.sort]);
  useKeptPlace(box, files, lines, props.what);
  const { at, activate } = useActive(box, files, lines, props.opened);
  const isShown = ({ top, height, start, files }: Line) =>
    (top < seen.top + seen.height + SPARE && top + height > seen.top - SPARE) ||
    // Keep the active file rendered out of view, so that it keeps the focus.
    (at >= start && at < start + files.length);
  const shown = lines.filter(isShown);
  useEffect(() => props.onSeen?.(shown.flatMap(({ files }) => files)));
  const last = lines.at(-1);
  const [renaming, rename] = useState("");
  const endRenaming = useCallback(() => rename(""), []);
  const toItems = (id: string) => {
    const file = files.find((each) => each.id === id);
    const onRename = file && isEditable(file, session) ? () => rename(id) : undefined;
    return file && <FileItems {...props} file={file} onRename={onRename} />;
  };
  const listeners = {
    onKeyDown: (event: KeyboardEvent) => onKey(event, { ...props, lines, at, activate, height: seen.height }),
    // Some browsers click on keyup of Space.
    onKeyUp: (event: KeyboardEvent) => event.key === " " && isThumb(event) && event.preventDefault(),
    onFocusIn: (event: FocusEvent) => {
      const id = (event.target as Element).closest(".card")?.id;
      if (id !== undefined && id !== files[at]?.id) activate(files.findIndex((file) => file.id === id));
    },
  };
  return (
    <div ref={box} class={`files ${view}`} tabIndex={-1}>
      <div
        class="file-lines"
        style={{ height: `${last ? last.top + last.height : 0}px` }}
        {...(last && toSemantics(props))}
        {...listeners}
      >
        {shown.flatMap((line) =>
          line.heading ? (
            <HeadingRow key={line.key} line={line} files={files} selection={selection} />
          ) : (
            line.files.map((file, column) => (
              <FileCard
                key={file.id}
                file={file}
                actions={actions}
                about={props.toAbout(file)}
                isEditable={isEditable(file, session)}
                thumb={shape.thumb}
                isSelected={selection.has(file.id)}
                isActive={line.start + column === at}
                onRenameEnd={renaming === file.id ? endRenaming : undefined}
                at={line.start + column}
                style={{
                  transform: `translate(${column * shape.across}px, ${line.top}px)`,
                  width: `${shape.cardWidth}px`,
                  height: `${shape.cardHeight}px`,
                }}
              />
            ))
          ),
        )}
      </div>
      {props.children}
      <ContextMenu label="File actions" box={box} rows=".card" items={toItems} />
    </div>
  );
}

/** `onRename`: undefined if the file may be neither renamed nor deleted. */
function FileItems(props: Grid & { file: SharedFile; onRename: (() => void) | undefined }) {
  const { file, actions, selection, onRename, onShow } = props;
  const download = useDownload();
  return (
    <>
      <MenuItem icon="file" onSelect={() => actions.open(file)}>
        Open
      </MenuItem>
      {onShow && (
        <MenuItem icon="reply" onSelect={() => onShow(file)}>
          Show in conversation
        </MenuItem>
      )}
      <MenuItem icon="select" onSelect={() => selection.toggle(file.id)}>
        {selection.has(file.id) ? "Deselect" : "Select"}
      </MenuItem>
      <MenuItem icon="download" onSelect={() => download([file])}>
        Download
      </MenuItem>
      <MenuItem icon="copy" onSelect={() => actions.copyLink(file)}>
        Copy link
      </MenuItem>
      {onRename && (
        <>
          <MenuItem icon="edit" onSelect={onRename}>
            Rename
          </MenuItem>
          <MenuItem icon="trash" danger onSelect={() => actions.remove(file)}>
            Delete
          </MenuItem>
        </>
      )}
    </>
  );
}

function toSemantics({ label, hasMore, files }: Grid) {
  return {
    role: "grid" as const,
    "aria-label": label,
    "aria-multiselectable": true,
    "aria-rowcount": hasMore ? -1 : files.length,
  };
}

function HeadingRow({ line, files, selection }: { line: Line } & Pick<Grid, "files" | "selection">) {
  const { heading, start, count, top, height } = line;
  const ids = files.slice(start, start + count).map(({ id }) => id);
  return (
    <div class="file-heading" role="row" style={{ transform: `translateY(${top}px)`, height: `${height}px` }}>
      <span role="rowheader">{heading}</span>
      <span role="gridcell">
        {/* Not a tab stop: Shift and the arrow keys select. */}
        <button
          type="button"
          class="card-check"
          role="checkbox"
          aria-checked={ids.every(selection.has)}
          aria-label={`Select all of ${heading}`}
          title={`Select all of ${heading}`}
          tabIndex={-1}
          onClick={() => selection.toggleAll(ids)}
        >
          <Icon name="check" />
        </button>
      </span>
    </div>
  );
}

function isThumb({ target }: Event): boolean {
  return (target as Element).classList.contains("thumb");
}

/** Tracks the file that Tab reaches. Files move, and another one becomes active only when the active one is gone. */
function useActive(
  box: { current: HTMLElement | null },
  files: readonly SharedFile[],
  lines: readonly Line[],
  opened: string | undefined,
) {
  const [active, setActive] = useState({ id: "", at: 0 });
  const found = useMemo(() => files.findIndex(({ id }) => id === active.id), [files, active.id]);
  const at = found >= 0 ? found : Math.min(active.at, files.length - 1);
  const isWanted = useRef(false);
  const latest = useRef({ files, lines });
  latest.current = { files, lines };
  const focused = document.activeElement?.closest(".card");
  useLayoutEffect(() => {
    // The focused file was deleted or moved.
    const isLost = focused && document.activeElement === document.body;
    if (!isWanted.current && !isLost) return;
    isWanted.current = false;
    const card = document.getElementById(files[at]?.id ?? "");
    (card?.querySelector<HTMLElement>(".thumb") ?? box.current!).focus({ preventScroll: true });
  });
  const activate = (to: number, isFocused = false) => {
    const file = latest.current.files[to];
    if (!file) return;
    isWanted.current ||= isFocused;
    setActive({ id: file.id, at: to });
    if (isFocused) reveal(box.current!, latest.current.lines, to);
  };
  // Scrolls to the file open in the viewer, and focuses the last open file when the viewer closes.
  useLayoutEffect(() => {
    if (opened === undefined) return;
    activate(latest.current.files.findIndex(({ id }) => id === opened));
    return () =>
      activate(
        latest.current.files.findIndex(({ id }) => id === opened),
        true,
      );
  }, [opened]);
  return { at, activate };
}

/** Scrolls to a file, and to the heading if the file is the first below it. */
function reveal(box: HTMLElement, lines: readonly Line[], at: number): void {
  const line = toLine(lines, at);
  if (!line) return;
  const { paddingTop, paddingBottom } = getComputedStyle(box);
  const before = lines[lines.indexOf(line) - 1];
  const top = before?.heading ? before.top : line.top;
  const end = line.top + line.height + Number.parseFloat(paddingTop) + Number.parseFloat(paddingBottom);
  if (top < box.scrollTop) box.scrollTop = top;
  else if (end > box.scrollTop + box.clientHeight) box.scrollTop = end - box.clientHeight;
}

interface GridKeys extends Grid {
  lines: Line[];
  at: number;
  height: number;
  activate: (at: number, isFocused: boolean) => void;
}

/** Enter is not handled here: the browser clicks, which opens the file. */
function onKey(event: KeyboardEvent, grid: GridKeys): void {
  const { files, at, selection } = grid;
  const file = files[at];
  if (!file || !isThumb(event) || hasModifier(event)) return;
  const to = toTarget(event.key, grid);
  if (to !== undefined) {
    const next = Math.max(0, Math.min(files.length - 1, to));
    if (event.shiftKey) selection.extend(file.id, files[next]!.id);
    else selection.forgetAnchor();
    grid.activate(next, true);
  } else if (event.key === " ") selection.toggle(file.id);
  else if (event.key === "Delete") grid.onRemove(selection.files.length > 0 ? selection.files : [file]);
  else return;
  event.preventDefault();
}

/** Returns the index of the file that a key moves to. */
function toTarget(key: string, { at, files, lines, height, view }: GridKeys): number | undefined {
  const rows = lines.filter((line) => line.heading === "");
  const row = rows.findIndex((line) => at < line.start + line.files.length);
  const down = (count: number) => {
    const line = rows[Math.max(0, Math.min(rows.length - 1, row + count))]!;
    return line.start + Math.min(at - rows[row]!.start, line.files.length - 1);
  };
  const page = Math.max(1, Math.floor(height / rows[row]!.height));
  if (key === "ArrowDown") return down(1);
  if (key === "ArrowUp") return down(-1);
  if (key === "PageDown") return down(page);
  if (key === "PageUp") return down(-page);
  if (key === "Home") return 0;
  if (key === "End") return files.length - 1;
  if (view === "grid" && key === "ArrowRight") return at + 1;
  if (view === "grid" && key === "ArrowLeft") return at - 1;
  return undefined;
}
