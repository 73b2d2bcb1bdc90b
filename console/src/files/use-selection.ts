// The selection of files.
import { useMemo, useRef, useState } from "preact/hooks";
import type { SharedFile } from "./file-actions.ts";

interface State {
  ids: ReadonlySet<string>;
  /** Start of the range; undefined to start at the active file. */
  anchor: string | undefined;
  /** The selection without the range, which may still shrink. */
  before: ReadonlySet<string>;
  /** Whether the next click selects, although nothing is selected yet. */
  isBegun: boolean;
}

const NONE: State = { ids: new Set(), anchor: undefined, before: new Set(), isBegun: false };

export interface Selection {
  /** The selected files that are visible. */
  files: SharedFile[];
  has: (id: string) => boolean;
  isOn: boolean;
  begin: () => void;
  clear: () => void;
  toggle: (id: string) => void;
  /** Extends the range to a file. `from`: where a new range starts. */
  extend: (from: string, to: string) => void;
  selectAll: () => void;
  /** Selects these files; deselects them if all of them are selected. */
  toggleAll: (ids: readonly string[]) => void;
  /** Makes the next range start at the active file. */
  forgetAnchor: () => void;
}

/** `files`: all visible files, in order. A filter hides selected files without deselecting them. */
export function useSelection(files: SharedFile[]): Selection {
  const [state, setState] = useState(NONE);
  const { ids } = state;
  const latest = useRef(files);
  latest.current = files;
  const change = useMemo(
    () => ({
      begin: () => setState((old) => ({ ...old, isBegun: true })),
      clear: () => setState(NONE),
      toggle: (id: string) =>
        setState((old) => {
          const ids = new Set(old.ids);
          if (!ids.delete(id)) ids.add(id);
          return { ...old, ids, before: ids, anchor: id };
        }),
      extend: (from: string, to: string) =>
        setState((old) => {
          const anchor = old.anchor ?? from;
          const before = old.anchor === undefined ? old.ids : old.before;
          return {
            ...old,
            anchor,
            before,
            ids: new Set([...before, ...toRange(latest.current, anchor, to)]),
          };
        }),
      selectAll: () =>
        setState((old) => {
          const ids = new Set([...old.ids, ...latest.current.map(({ id }) => id)]);
          return { ...old, ids, before: ids };
        }),
      toggleAll: (all: readonly string[]) =>
        setState((old) => {
          const ids = new Set(old.ids);
          const isAll = all.every((id) => ids.has(id));
          for (const id of all) {
            if (isAll) ids.delete(id);
            else ids.add(id);
          }
          return { ...old, ids, before: ids };
        }),
      forgetAnchor: () => setState((old) => (old.anchor === undefined ? old : { ...old, anchor: undefined })),
    }),
    [],
  );
  const selected = useMemo(() => files.filter(({ id }) => ids.has(id)), [files, ids]);
  return {
    ...change,
    files: selected,
    has: (id) => ids.has(id),
    isOn: state.isBegun || selected.length > 0,
  };
}

/** Returns the ids from one file to another, in either direction. */
function toRange(files: readonly SharedFile[], from: string, to: string): string[] {
  const ends = [from, to].map((id) => files.findIndex((file) => file.id === id));
  // The start of the range may be gone.
  const [first, last] = ends.includes(-1) ? [ends[1]!, ends[1]!] : ends.sort((a, b) => a - b);
  return files.slice(first, last! + 1).map(({ id }) => id);
}
