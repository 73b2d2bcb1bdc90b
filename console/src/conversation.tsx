// The right side: the files of a conversation, and the place to drop more.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Attachment } from "../../client/src/index.ts";
import { ConfirmDialog } from "./dialog.tsx";
import { useDrop } from "./drop.ts";
import { type FileActions, FileCard } from "./file-card.tsx";
import { Icon } from "./icons.tsx";
import { Preview } from "./preview.tsx";
import { useSession } from "./session.ts";
import { useFiles } from "./use-files.ts";
import type { Pages } from "./use-pages.ts";

export function Conversation(props: {
  id: string;
  /** Whose it is: "Grace", or "your notes". */
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
  const { zone, over } = useDrop(add, () => say("Folders cannot be sent: drop the files in them."));
  const [opened, setOpened] = useState<string>();
  const [removing, setRemoving] = useState<Attachment>();
  const actions = useFileActions(pages, setOpened, setRemoving);
  const at = pages.items.findIndex((file) => file.id === opened);
  const step = (to: number) => {
    const file = pages.items[to];
    return file && (() => setOpened(file.id));
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
          onClose={() => setOpened(undefined)}
        />
      )}
      {removing && <RemoveFile file={removing} pages={pages} onClose={() => setRemoving(undefined)} />}
    </section>
  );
}

function useFileActions(
  pages: Pages<Attachment>,
  setOpened: (id: string) => void,
  setRemoving: (file: Attachment) => void,
): FileActions {
  const { parley, say, report } = useSession();
  return {
    open: (file) => setOpened(file.id),
    remove: setRemoving,
    rename: async (file, filename) => {
      try {
        const renamed = await parley.attachments.update(file.id, { filename });
        pages.edit((items) => items.map((each) => (each.id === file.id ? renamed : each)));
        say(`Renamed to ${renamed.filename}.`);
        return true;
      } catch (error) {
        report(`${file.filename} was not renamed.`, error);
        return false;
      }
    },
    copyLink: async (file) => {
      try {
        await navigator.clipboard.writeText(file.file_url);
        say("The link is copied. It opens for whoever has it, for an hour at least.");
      } catch {
        report("The link was not copied.", new Error("The browser lets only pages over https do that."));
      }
    },
  };
}

function RemoveFile(props: { file: Attachment; pages: Pages<Attachment>; onClose: () => void }) {
  const { file, pages, onClose } = props;
  const { parley, say, report, refreshMe } = useSession();
  const remove = async () => {
    try {
      await parley.attachments.delete(file.id);
      pages.edit((items) => items.filter(({ id }) => id !== file.id));
      say(`${file.filename} was deleted.`);
      refreshMe();
      // The button that had the focus is gone.
      requestAnimationFrame(() => document.querySelector<HTMLElement>(".files")?.focus());
    } catch (error) {
      report(`${file.filename} was not deleted.`, error);
    }
  };
  return (
    <ConfirmDialog
      title="Delete this file?"
      text={`${file.filename} goes for everybody in this conversation, and its links stop working. This cannot be undone.`}
      action="Delete"
      onConfirm={remove}
      onClose={onClose}
    />
  );
}

function Files(props: { pages: Pages<Attachment>; actions: FileActions; name: string; onPick: () => void }) {
  const { pages, actions } = props;
  const end = useRef<HTMLDivElement>(null);
  const more = useRef(pages.more);
  more.current = pages.more;
  const { length } = pages.items;
  // Observed anew, an end that is still in view asks on.
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
            <FileCard key={file.id} file={file} actions={actions} />
          ))}
        </ul>
      )}
      {length === 0 && !pages.loading && !pages.failure && <Empty name={props.name} onPick={props.onPick} />}
      {pages.failure && (
        <div class="files-empty">
          <p class="failure" role="alert">
            {pages.failure}
          </p>
          <button type="button" class="button" onClick={pages.reload}>
            Try again
          </button>
        </div>
      )}
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
      <p class="muted">Nothing in {name} yet. You can also paste a picture, or choose files.</p>
      <button type="button" class="button primary" onClick={onPick}>
        Choose files
      </button>
    </div>
  );
}
