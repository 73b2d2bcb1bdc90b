// The files of a conversation or of all: the bar, the grid or list, the open file and the dialog that deletes some.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useOpenFile } from "../place.ts";
import { PageFailure, Reading, toCount } from "../ui/page-notes.tsx";
import { type SharedFile, useCopyLink, useRename } from "./file-actions.ts";
import { FileBar, type FileChoice } from "./file-bar.tsx";
import type { FileActions } from "./file-card.tsx";
import { FileGrid } from "./file-grid.tsx";
import { arrange, TYPES, type Type } from "./file-order.ts";
import { focusContent, OpenFile } from "./open-file.tsx";
import { RemoveFiles } from "./remove-files.tsx";
import type { Files } from "./use-files.ts";
import { type Selection, useSelection } from "./use-selection.ts";

export interface Browser {
  pages: Files;
  /** Those of the pages to show, newest first. */
  items: SharedFile[];
  label: string;
  /** The words searched for; empty for all files. */
  q: string;
  choice: FileChoice;
  onChoose: (change: Partial<FileChoice>) => void;
  /** Describes a file on its card: who sent it, or where. Empty if that is obvious. */
  toAbout: (file: SharedFile) => string;
  toSender: (file: SharedFile) => string;
  /** Called after each render with the files that it shows. */
  onSeen?: (files: SharedFile[]) => void;
  /** Undefined if files cannot be added. */
  onPick?: () => void;
  /** Shows a file where it was sent; undefined if it is there already. */
  onShow?: ((file: SharedFile) => void) | undefined;
  /** Shown in place of the files if the choice is links; undefined if there are none to choose. */
  links?: ComponentChildren;
  /** Shown if there are no files. */
  empty: ComponentChildren;
  /** Returns what is above the bar. `found`: how many files match; empty until that is known. */
  top: (found: string) => ComponentChildren;
}

export function FileBrowser(props: Browser) {
  const { pages, items, q, choice, onChoose, onPick, links, toSender } = props;
  const { sort, type, view } = choice;
  const isLinks = type === "links";
  const files = useMemo(() => arrange(items, sort, type), [items, sort, type]);
  const selection = useSelection(files);
  useSelectionKeys(selection, !isLinks);
  const [opened, lookAt] = useOpenFile();
  const [removing, remove] = useState<SharedFile[]>();
  const actions = useFileActions(selection, lookAt, remove);
  const endRemoving = () => {
    remove(undefined);
    focusContent();
  };
  const isWhole = !pages.hasMore || pages.isPart;
  const found = q && !isLinks && isWhole ? toCount({ ...pages, items: files, hasMore: pages.isPart }) : "";
  return (
    <>
      {props.top(found)}
      {(items.length > 0 || links) && (
        <FileBar
          files={files}
          hasTools={items.length > 0 && !isLinks}
          hasLinks={links !== undefined}
          isWhole={isWhole}
          selection={selection}
          choice={choice}
          onChoose={onChoose}
          onPick={onPick}
          onRemove={remove}
        />
      )}
      {isLinks ? (
        links
      ) : (
        <FileGrid
          files={files}
          label={props.label}
          view={view}
          sort={sort}
          what={`${props.label} ${q} ${sort} ${type}`}
          hasMore={pages.hasMore}
          selection={selection}
          actions={actions}
          toAbout={props.toAbout}
          onSeen={props.onSeen}
          opened={opened}
          onRemove={remove}
          onShow={props.onShow}
        >
          <AfterFiles {...props} count={files.length} type={type} />
        </FileGrid>
      )}
      <OpenFile
        files={files}
        hasMore={pages.hasMore}
        opened={opened}
        lookAt={lookAt}
        more={pages.more}
        toName={toSender}
      />
      {removing && <RemoveFiles files={removing} onClose={endRemoving} />}
    </>
  );
}

/** Returns the same object each time, to avoid rendering cards again. */
function useFileActions(
  selection: Selection,
  lookAt: (id: string) => void,
  remove: (files: SharedFile[]) => void,
): FileActions {
  const rename = useRename();
  const copyLink = useCopyLink();
  const latest = useRef({ selection, lookAt });
  latest.current = { selection, lookAt };
  return useMemo(
    () => ({
      press: (file, event) => {
        const { selection, lookAt } = latest.current;
        // A click without a count comes from the keyboard or from assistive technology.
        const isClick = event.detail > 0;
        if (isClick && event.shiftKey) selection.extend(file.id, file.id);
        else if (isClick && (event.ctrlKey || event.metaKey || selection.isOn)) selection.toggle(file.id);
        else lookAt(file.id);
      },
      open: ({ id }) => latest.current.lookAt(id),
      select: ({ id }, isRange) => {
        const { selection } = latest.current;
        if (isRange) selection.extend(id, id);
        else selection.toggle(id);
      },
      rename,
      copyLink,
      remove: (file) => remove([file]),
    }),
    [rename, copyLink, remove],
  );
}

/** Ctrl+A selects all files, Escape clears the selection. */
function useSelectionKeys(selection: Selection, isShown: boolean): void {
  const latest = useRef({ selection, isShown });
  latest.current = { selection, isShown };
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const { selection, isShown } = latest.current;
      const { isOn, clear, selectAll } = selection;
      const target = event.target as Element;
      const isHere = target === document.body || target.closest(".conversation");
      const isText = target.closest("input:not([type=radio]), textarea, select");
      if (event.defaultPrevented || !isShown || !isHere || isText || document.querySelector("dialog")) return;
      if (event.key === "a" && (event.ctrlKey || event.metaKey)) selectAll();
      else if (event.key === "Escape" && isOn) clear();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
}

/** `count`: how many files are shown. */
function AfterFiles(props: Browser & { count: number; type: Type }) {
  const { pages, items, count, type, q } = props;
  const isIdle = !pages.loading && !pages.failure && (!pages.hasMore || pages.isPart);
  const label = TYPES.find(([each]) => each === type)![1];
  return (
    <>
      {count === 0 && pages.loading && <Reading />}
      {count === 0 && isIdle && items.length > 0 && (
        <p class="muted">No files of this type: {label.toLowerCase()}.</p>
      )}
      {items.length === 0 && isIdle && (q ? <p class="muted">Nothing matches “{q}”.</p> : props.empty)}
      {pages.isPart && !pages.failure && (
        <div class="files-part">
          <p class="muted">
            Only the newest {pages.items.length.toLocaleString()} files are loaded: older ones are neither
            sorted nor filtered.
          </p>
          <button type="button" class="button" onClick={pages.loadOlder}>
            Load older files
          </button>
        </div>
      )}
      <PageFailure pages={pages} />
    </>
  );
}
