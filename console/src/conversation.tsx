// The right side: the files of a conversation, and the drop zone.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Attachment } from "../../client/src/index.ts";
import { ConfirmDialog } from "./dialog.tsx";
import { useDrop } from "./drop.ts";
import { isForeign } from "./failures.ts";
import { type FileActions, FileCard } from "./file-card.tsx";
import { Icon } from "./icons.tsx";
import { PageFailure, Reading } from "./page-notes.tsx";
import { useOpenFile } from "./place.ts";
import { Preview } from "./preview.tsx";
import { type Session, useChanges, useSession } from "./session.ts";
import { useFiles } from "./use-files.ts";
import type { Pages } from "./use-pages.ts";

/** How many files before the end the preview requests the next page. */
const AHEAD = 4;

export function Conversation(props: {
  id: string;
  /** The name for messages: "Grace", or "your notes". */
  name: string;
  header: ComponentChildren;
}) {
  const { id, name } = props;
  const { uploads, say } = useSession();
  const pages = useFiles(id);
  const picker = useRef<HTMLInputElement>(null);
  const add = (files: File[]) => {
    if (files.length > 0) uploads.add(files, id, name);
  };
  const { zone, over } = useDrop(add, () =>
    say("Folders cannot be uploaded. Drop the files in them instead."),
  );
  const [opened, lookAt] = useOpenFile();
  const [removing, setRemoving] = useState<Attachment>();
  const actions = useFileActions(pages, lookAt, setRemoving);
  const at = pages.items.findIndex((file) => file.id === opened);
  useEffect(() => {
    if (at >= 0 && at + AHEAD >= pages.items.length) pages.more();
  });
  useChanges((event) => {
    if (opened === undefined || event.type !== "attachment.deleted" || event.payload.id !== opened) return;
    say(`${pages.items[at]?.filename ?? "The file"} was deleted.`);
    lookAt(undefined);
    focusFiles();
  });
  const step = (to: number) => {
    const file = pages.items[to];
    return file && (() => lookAt(file.id));
  };
  return (
    <section class="conversation" tabIndex={-1} ref={zone} aria-label={`Files: ${name}`}>
      {props.header}
      <Files pages={pages} actions={actions} name={name} onPick={() => picker.current!.click()} />
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        onChange={(event) => {
          add([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = "";
        }}
      />
      {over && (
        <div class="drop-over" aria-hidden="true">
          <Icon name="upload" />
          Drop to add to {name}
        </div>
      )}
      {at >= 0 && (
        <Preview
          file={pages.items[at]!}
          previous={step(at - 1)}
          next={step(at + 1)}
          actions={actions}
          onClose={() => lookAt(undefined)}
        />
      )}
      {removing && <RemoveFile file={removing} pages={pages} onClose={() => setRemoving(undefined)} />}
    </section>
  );
}

/** Returns the same object each time, so that cards do not render again. */
function useFileActions(
  pages: Pages<Attachment>,
  lookAt: (id: string) => void,
  setRemoving: (file: Attachment) => void,
): FileActions {
  const session = useSession();
  const latest = useRef({ pages, lookAt, session });
  latest.current = { pages, lookAt, session };
  return useMemo(() => createActions(latest, setRemoving), [setRemoving]);
}

function createActions(
  latest: { current: { pages: Pages<Attachment>; lookAt: (id: string) => void; session: Session } },
  setRemoving: (file: Attachment) => void,
): FileActions {
  const { parley, foreignFiles, say, report } = latest.current.session;
  return {
    open: (file) => latest.current.lookAt(file.id),
    remove: setRemoving,
    rename: async (file, filename) => {
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
    },
    copyLink: async (file) => {
      try {
        await navigator.clipboard.writeText(file.file_url);
        say("Link copied. It opens for anyone who has it, for at least an hour.");
      } catch {
        report("The link was not copied.", new Error("The browser allows that only on https pages."));
      }
    },
  };
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
      focusFiles();
    } catch (error) {
      report(`${file.filename} was not deleted.`, error);
      if (!isForeign(error)) return;
      foreignFiles.add(file.id);
      focusFiles();
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

/** Focuses the files if the focused button is gone, after the next render. */
function focusFiles(): void {
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      if (document.activeElement === document.body) document.querySelector<HTMLElement>(".files")?.focus();
    }),
  );
}

function Files(props: { pages: Pages<Attachment>; actions: FileActions; name: string; onPick: () => void }) {
  const { pages, actions } = props;
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
          <li class="card add-card">
            <button type="button" class="add-files" onClick={props.onPick}>
              <Icon name="upload" />
              <strong>Add files</strong>
              <span class="muted small">or drop or paste them here</span>
            </button>
          </li>
          {pages.items.map((file) => (
            <FileCard key={file.id} file={file} actions={actions} foreign={foreignFiles.has(file.id)} />
          ))}
        </ul>
      )}
      {length === 0 && !pages.loading && !pages.failure && <Empty name={props.name} onPick={props.onPick} />}
      {length === 0 && pages.loading && <Reading />}
      <PageFailure pages={pages} />
      <div ref={end} />
    </div>
  );
}

function Empty({ name, onPick }: { name: string; onPick: () => void }) {
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
