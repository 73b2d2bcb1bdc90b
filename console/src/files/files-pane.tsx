// The Files tab: the files of a conversation as a grid or a list.
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { usePeople } from "../people/people.tsx";
import { useOpenFile } from "../place.ts";
import { SearchBar } from "../search/search-bar.tsx";
import { useSession } from "../session/session.ts";
import { Icon } from "../ui/icons.tsx";
import { NotAllowed, PageFailure, Reading, toCount, toNotAllowed } from "../ui/page-notes.tsx";
import { useSettled } from "../ui/use-settled.ts";
import { type SharedFile, useCopyLink, useRename } from "./file-actions.ts";
import { FileBar, useFileChoice } from "./file-bar.tsx";
import type { FileActions } from "./file-card.tsx";
import { FileGrid } from "./file-grid.tsx";
import { arrange, TYPES, type Type } from "./file-order.ts";
import { focusContent, OpenFile } from "./open-file.tsx";
import { RemoveFiles } from "./remove-files.tsx";
import { type Files, useFiles } from "./use-files.ts";
import { type Selection, useSelection } from "./use-selection.ts";

interface Pane {
  id: string;
  name: string;
  kind: "contact" | "group" | "self";
  onPick: () => void;
  isSearching: boolean;
  onSearchEnd: () => void;
}

export function FilesPane(props: Pane) {
  const { can } = useSession();
  return can("attachments:read") ? <Loaded {...props} /> : <NotAllowed what="see files" />;
}

function Loaded(props: Pane) {
  const { id, name, isSearching } = props;
  const [typed, setTyped] = useState("");
  useEffect(() => {
    if (!isSearching) setTyped("");
  }, [isSearching]);
  const q = useSettled(isSearching ? typed.trim() : "");
  const pages = useFiles(id, q);
  const [choice, choose] = useFileChoice();
  const { sort, type, view } = choice;
  const files = useMemo(() => arrange(pages.items, sort, type), [pages.items, sort, type]);
  const selection = useSelection(files);
  useSelectionKeys(selection);
  const [opened, lookAt] = useOpenFile();
  const [removing, remove] = useState<SharedFile[]>();
  const actions = useFileActions(selection, lookAt, remove);
  const toSender = useSenderName(props);
  const endRemoving = () => {
    remove(undefined);
    focusContent();
  };
  const isWhole = !pages.hasMore || pages.isPart;
  return (
    <>
      {isSearching && (
        <SearchBar label="Search files" typed={typed} onType={setTyped} onClose={props.onSearchEnd}>
          <span class="muted small" role="status">
            {q && isWhole && toCount({ ...pages, items: files, hasMore: pages.isPart })}
          </span>
        </SearchBar>
      )}
      {pages.items.length > 0 && (
        <FileBar
          files={files}
          isWhole={isWhole}
          selection={selection}
          choice={choice}
          onChoose={choose}
          onPick={props.onPick}
          onRemove={remove}
        />
      )}
      <FileGrid
        files={files}
        label={`Files of ${name}`}
        view={view}
        sort={sort}
        what={`${q} ${sort} ${type}`}
        hasMore={pages.hasMore}
        selection={selection}
        actions={actions}
        toSender={toSender}
        opened={opened}
        onRemove={remove}
      >
        <AfterFiles pages={pages} count={files.length} type={type} q={q} {...props} />
      </FileGrid>
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
function useSelectionKeys(selection: Selection): void {
  const latest = useRef(selection);
  latest.current = selection;
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const { isOn, clear, selectAll } = latest.current;
      const target = event.target as Element;
      const isHere = target === document.body || target.closest(".conversation");
      const isText = target.closest("input:not([type=radio]), textarea, select");
      if (event.defaultPrevented || !isHere || isText || document.querySelector("dialog")) return;
      if (event.key === "a" && (event.ctrlKey || event.metaKey)) selectAll();
      else if (event.key === "Escape" && isOn) clear();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
}

/**
 * Returns a function that names the sender of a file as the conversation does; empty if unknown, or in notes to self.
 */
function useSenderName({ kind }: Pane): (file: Pick<SharedFile, "sender">) => string {
  const { me } = useSession();
  const people = usePeople();
  return useCallback(
    ({ sender }) => {
      if (kind === "self" || sender === undefined) return "";
      return sender?.id === me.id ? "You" : people.toPerson(sender).name;
    },
    [kind, people.version, me.id],
  );
}

function AfterFiles(props: {
  pages: Files;
  /** How many files are shown. */
  count: number;
  type: Type;
  q: string;
  name: string;
  onPick: () => void;
}) {
  const { pages, count, type, q } = props;
  const isIdle = !pages.loading && !pages.failure;
  return (
    <>
      {count === 0 && pages.loading && <Reading />}
      {count === 0 && isIdle && <NoFiles {...props} isFiltered={pages.items.length > 0} type={type} q={q} />}
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

function NoFiles(props: { isFiltered: boolean; type: Type; q: string; name: string; onPick: () => void }) {
  const { isFiltered, type, q, name } = props;
  const { can } = useSession();
  if (isFiltered) {
    const label = TYPES.find(([each]) => each === type)![1];
    return <p class="muted">No files of this type: {label.toLowerCase()}.</p>;
  }
  if (q !== "") return <p class="muted">Nothing matches “{q}”.</p>;
  if (!can("attachments:write")) {
    return (
      <div class="files-empty">
        <span class="empty-art">
          <Icon name="file" />
        </span>
        <h2>No files yet</h2>
        <p class="muted">{toNotAllowed("upload files")}</p>
      </div>
    );
  }
  return (
    <div class="files-empty">
      <span class="empty-art">
        <Icon name="upload" />
      </span>
      <h2>Drop files here</h2>
      <p class="muted">Nothing in {name} yet. You can also paste a picture or choose files.</p>
      <button type="button" class="button primary" onClick={props.onPick}>
        Choose files
      </button>
    </div>
  );
}
