// Which files are selected.
import { useMemo, useRef, useState } from "preact/hooks";
import type { SharedFile } from "./file-actions.ts";

interface State {
  ids: ReadonlySet<string>;
  /** Where a range starts; undefined to start it at the active file. */
  anchor: string | undefined;
  /** What was selected before the range, which may still shrink. */
  before: ReadonlySet<string>;
  /** Whether the next click selects, though nothing is selected yet. */
  isBegun: boolean;
}

const NONE: State = { ids: new Set(), anchor: undefined, before: new Set(), isBegun: false };

export interface Selection {
  /** The selected files that are shown. */
  files: SharedFile[];
  has: (id: string) => boolean;
  isOn: boolean;
  begin: () => void;
  clear: () => void;
  toggle: (id: string) => void;
  /** Selects from the start of the range to a file. `from`: the active file. */
  extend: (from: string, to: string) => void;
  selectAll: () => void;
  /** Lets the next range start at the active file. */
  forgetAnchor: () => void;
}

/** `files`: all that are shown, in their order. What a filter hides stays selected, but is not in `files`. */
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
  // Where the range started may be gone.
  const [first, last] = ends.includes(-1) ? [ends[1]!, ends[1]!] : ends.sort((a, b) => a - b);
  return files.slice(first, last! + 1).map(({ id }) => id);
}
