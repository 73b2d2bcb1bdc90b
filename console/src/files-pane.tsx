// The Files tab: the files of a conversation as a grid.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Attachment } from "../../client/src/index.ts";
import { ConfirmDialog } from "./dialog.tsx";
import { isForeign } from "./failures.ts";
import { type FileActions, FileCard } from "./file-card.tsx";
import { Icon } from "./icons.tsx";
import { focusContent, OpenFile, useCopyLink } from "./open-file.tsx";
import { PageFailure, Reading, toCount } from "./page-notes.tsx";
import { useOpenFile } from "./place.ts";
import { SearchBar } from "./search-bar.tsx";
import { useSession } from "./session.ts";
import { useFiles } from "./use-files.ts";
import type { Pages } from "./use-pages.ts";
import { useSettled } from "./use-settled.ts";

export function FilesPane(props: {
  id: string;
  name: string;
  onPick: () => void;
  isSearching: boolean;
  onSearchEnd: () => void;
}) {
  const { isSearching, onSearchEnd } = props;
  const [typed, setTyped] = useState("");
  useEffect(() => {
    if (!isSearching) setTyped("");
  }, [isSearching]);
  const q = useSettled(isSearching ? typed.trim() : "");
  const pages = useFiles(props.id, q);
  const [opened, lookAt] = useOpenFile();
  const [removing, setRemoving] = useState<Attachment>();
  const actions = useFileActions(pages, lookAt, setRemoving);
  return (
    <>
      {isSearching && (
        <SearchBar label="Search files" typed={typed} onType={setTyped} onClose={onSearchEnd}>
          <span class="muted small" role="status">
            {q && toCount(pages)}
          </span>
        </SearchBar>
      )}
      <Files pages={pages} actions={actions} q={q} name={props.name} onPick={props.onPick} />
      <OpenFile files={pages.items} opened={opened} lookAt={lookAt} more={pages.more} />
      {removing && <RemoveFile file={removing} pages={pages} onClose={() => setRemoving(undefined)} />}
    </>
  );
}

/** Returns the same object each time, so that cards do not render again. */
function useFileActions(
  pages: Pages<Attachment>,
  lookAt: (id: string) => void,
  setRemoving: (file: Attachment) => void,
): FileActions {
  const { parley, foreignFiles, say, report } = useSession();
  const copyLink = useCopyLink();
  const latest = useRef({ pages, lookAt });
  latest.current = { pages, lookAt };
  return useMemo(() => {
    const rename: FileActions["rename"] = async (file, filename) => {
      const { edit } = latest.current.pages;
      try {
        const renamed = await parley.attachments.update(file.id, { filename });
        edit((items) => items.map((each) => (each.id === file.id ? renamed : each)));
        say(`Renamed to ${renamed.filename}.`);
        return true;
      } catch (error) {
        report(`${file.filename} was not renamed.`, error);
        if (!isForeign(error)) return false;
        foreignFiles.add(file.id);
        return true;
      }
    };
    return { open: (file) => latest.current.lookAt(file.id), remove: setRemoving, rename, copyLink };
  }, [setRemoving, parley, foreignFiles, say, report, copyLink]);
}

function RemoveFile(props: { file: Attachment; pages: Pages<Attachment>; onClose: () => void }) {
  const { file, pages, onClose } = props;
  const { parley, foreignFiles, say, report, refreshMe } = useSession();
  const remove = async () => {
    try {
      await parley.attachments.delete(file.id);
      pages.edit((items) => items.filter(({ id }) => id !== file.id));
      say(`${file.filename} was deleted.`);
      refreshMe();
      focusContent();
    } catch (error) {
      report(`${file.filename} was not deleted.`, error);
      if (!isForeign(error)) return;
      foreignFiles.add(file.id);
      focusContent();
    }
  };
  return (
    <ConfirmDialog
      title="Delete this file?"
      text={`This deletes ${file.filename} for everyone in this conversation, and its links stop working. You can't undo this.`}
      action="Delete"
      onConfirm={remove}
      onClose={onClose}
    />
  );
}

function Files(props: {
  pages: Pages<Attachment>;
  actions: FileActions;
  q: string;
  name: string;
  onPick: () => void;
}) {
  const { pages, actions, q } = props;
  const { foreignFiles } = useSession();
  const end = useRef<HTMLDivElement>(null);
  const more = useRef(pages.more);
  more.current = pages.more;
  const { length } = pages.items;
  // Observing again requests the next page if the end is still in view.
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && more.current(), {
      rootMargin: "600px",
    });
    observer.observe(end.current!);
    return () => observer.disconnect();
  }, [length]);
  return (
    <div class="files" tabIndex={length === 0 ? -1 : 0} role="group" aria-label={`Files of ${props.name}`}>
      {length > 0 && (
        <ul class="grid">
          {q === "" && <AddCard onPick={props.onPick} />}
          {pages.items.map((file) => (
            <FileCard key={file.id} file={file} actions={actions} foreign={foreignFiles.has(file.id)} />
          ))}
        </ul>
      )}
      {length === 0 && !pages.loading && !pages.failure && <Empty {...props} />}
      {length === 0 && pages.loading && <Reading />}
      <PageFailure pages={pages} />
      <div ref={end} />
    </div>
  );
}

function AddCard({ onPick }: { onPick: () => void }) {
  return (
    <li class="card add-card">
      <button type="button" class="add-files" onClick={onPick}>
        <Icon name="upload" />
        <strong>Add files</strong>
        <span class="muted small">or drop or paste them here</span>
      </button>
    </li>
  );
}

function Empty({ q, name, onPick }: { q: string; name: string; onPick: () => void }) {
  if (q !== "") return <p class="muted">Nothing matches “{q}”.</p>;
  return (
    <div class="files-empty">
      <span class="empty-art">
        <Icon name="upload" />
      </span>
      <h2>Drop files here</h2>
      <p class="muted">Nothing in {name} yet. You can also paste a picture or choose files.</p>
      <button type="button" class="button primary" onClick={onPick}>
        Choose files
      </button>
    </div>
  );
}
