// The bar above the files: types, order, view and total; and the actions for selected files.
import { useMemo, useState } from "preact/hooks";
import { useSession } from "../session/session.ts";
import { browserStore } from "../session/storage.ts";
import { Choice } from "../ui/choice.tsx";
import { formatSize } from "../ui/format.ts";
import { Icon, IconButton } from "../ui/icons.tsx";
import { isEditable, MAX_ARCHIVED, type SharedFile, useDownload } from "./file-actions.ts";
import { SORTS, type Sort, TYPES, type Type, type View } from "./file-order.ts";
import type { Selection } from "./use-selection.ts";

export interface FileChoice {
  sort: Sort;
  type: Type;
  view: View;
}

const WITH_LINKS = [...TYPES, ["links", "Links"]] as const;

const KEY = "parley-files-view";

/** Returns the choices of the file bar. The browser remembers the view. */
export function useFileChoice(sort: Sort): [FileChoice, (change: Partial<FileChoice>) => void] {
  const [choice, setChoice] = useState<FileChoice>(() => ({
    sort,
    type: "all",
    view: browserStore.get(KEY) === "list" ? "list" : "grid",
  }));
  const choose = (change: Partial<FileChoice>) => {
    setChoice((old) => ({ ...old, ...change }));
    if (change.view) browserStore.set(KEY, change.view);
  };
  return [choice, choose];
}

interface Bar {
  /** The files shown. */
  files: SharedFile[];
  /** Whether there are files to sort and select. */
  hasTools: boolean;
  /** Whether the links of messages can be chosen. */
  hasLinks: boolean;
  /** Whether all files are loaded. */
  isWhole: boolean;
  selection: Selection;
  choice: FileChoice;
  onChoose: (change: Partial<FileChoice>) => void;
  onPick: (() => void) | undefined;
  onRemove: (files: SharedFile[]) => void;
}

export function FileBar(props: Bar) {
  const { selection, choice, onChoose } = props;
  const { isOn } = selection;
  return (
    <div class={isOn ? "file-bar selecting" : "file-bar"}>
      <span class="file-bar-lead">
        <span role="status" class="file-bar-count">
          {isOn && (selection.files.length > 0 ? `${toSum(selection.files)} selected` : "Select files")}
        </span>
        {isOn ? (
          <SelectedTools {...props} />
        ) : (
          <Choice
            legend="Types of files"
            name="file-type"
            chosen={choice.type}
            choices={props.hasLinks ? WITH_LINKS : TYPES}
            onChoose={(type) => onChoose({ type })}
          />
        )}
      </span>
      <span class="file-bar-tools">
        {!isOn && props.hasTools && <FileTools {...props} />}
        {isOn && (
          <button type="button" class="button" onClick={selection.clear}>
            Done
          </button>
        )}
      </span>
    </div>
  );
}

function FileTools({ files, isWhole, selection, choice, onChoose, onPick }: Bar) {
  const { can } = useSession();
  const other = choice.view === "grid" ? "list" : "grid";
  const sum = useMemo(() => toSum(files), [files]);
  return (
    <>
      <span class="muted small">{isWhole ? `${sum} shown` : `Loading… ${sum} so far`}</span>
      <select
        class="field"
        aria-label="Sort files"
        value={choice.sort}
        onChange={({ currentTarget }) => onChoose({ sort: currentTarget.value as Sort })}
      >
        {SORTS.map(([sort, label]) => (
          <option key={sort} value={sort}>
            {label}
          </option>
        ))}
      </select>
      <IconButton icon={other} label={`Show as ${other}`} onClick={() => onChoose({ view: other })} />
      {onPick && can("attachments:write") && <IconButton icon="upload" label="Add files" onClick={onPick} />}
      <IconButton icon="select" label="Select files" onClick={selection.begin} />
    </>
  );
}

/** Offers only actions that can succeed. */
function SelectedTools(props: { selection: Selection; onRemove: (files: SharedFile[]) => void }) {
  const { selection, onRemove } = props;
  const session = useSession();
  const download = useDownload();
  const { files } = selection;
  const own = files.filter((file) => isEditable(file, session));
  return (
    <>
      <button type="button" class="button" onClick={selection.selectAll}>
        Select all
      </button>
      {files.length > 0 && (
        <button
          type="button"
          class="button"
          disabled={files.length > MAX_ARCHIVED}
          onClick={() => download(files)}
        >
          <Icon name="download" />
          {files.length > MAX_ARCHIVED ? `Download up to ${MAX_ARCHIVED}` : "Download"}
        </button>
      )}
      {own.length > 0 && (
        <button type="button" class="button danger" onClick={() => onRemove(files)}>
          <Icon name="trash" />
          {own.length === files.length
            ? "Delete"
            : `Delete ${own.length} of ${files.length} (${toSize(own)})`}
        </button>
      )}
    </>
  );
}

function toSize(files: readonly SharedFile[]): string {
  return formatSize(files.reduce((sum, { file_size }) => sum + file_size, 0));
}

/** Returns the number and the total size of files. */
function toSum(files: readonly SharedFile[]): string {
  return `${files.length.toLocaleString()} ${files.length === 1 ? "file" : "files"} · ${toSize(files)}`;
}
