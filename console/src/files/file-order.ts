// Filters and sorts files, and computes their positions in the list.

import { formatDay, isSameDay } from "../ui/format.ts";
import type { SharedFile } from "./file-actions.ts";
import { type FileType, toFileType } from "./media.ts";
import type { Box } from "./picture.tsx";

/** How many files to load without asking. Sorting and filtering work on loaded files only. */
export const MAX_LOADED = 10_000;

export const SORTS = [
  ["newest", "Newest"],
  ["oldest", "Oldest"],
  ["name", "Name"],
  ["size", "Size"],
] as const;
export type Sort = (typeof SORTS)[number][0];

export const TYPES = [
  ["all", "All"],
  ["picture", "Pictures"],
  ["video", "Video"],
  ["audio", "Audio"],
  ["document", "Documents"],
  ["other", "Other"],
] as const satisfies readonly (readonly [FileType | "all", string])[];
/** `links`: those of messages, in place of files. */
export type Type = (typeof TYPES)[number][0] | "links";

export type View = "grid" | "list";

const NAMES = new Intl.Collator(undefined, { numeric: true });

/** `files`: newest first. Sorting is stable, so of equal names or sizes the newest comes first. */
export function arrange(files: SharedFile[], sort: Sort, type: Type): SharedFile[] {
  const shown = type === "all" ? files : files.filter((file) => toFileType(file) === type);
  if (sort === "newest") return shown;
  if (sort === "oldest") return shown.toReversed();
  if (sort === "size") return shown.toSorted((a, b) => b.file_size - a.file_size);
  return shown.toSorted((a, b) => NAMES.compare(a.filename, b.filename));
}

/** The layout of cards, in pixels. */
export interface Shape {
  columns: number;
  /** From the left edge of a card to the left edge of the next. */
  across: number;
  cardWidth: number;
  cardHeight: number;
  /** From the top edge of a card to the top edge of the next. */
  down: number;
  /** The picture of a card. */
  thumb: Box;
}

const ROW = 60;
const ROW_THUMB = 40;
const CARD = 218;
const CARD_THUMB = 147;
const HEADING = 40;

export function toShape(view: View, width: number): Shape {
  if (view === "list") {
    const thumb = { width: ROW_THUMB, height: ROW_THUMB };
    return { columns: 1, across: width, cardWidth: width, cardHeight: ROW, down: ROW, thumb };
  }
  const isNarrow = width < 600;
  const gap = isNarrow ? 12 : 18;
  const columns = Math.max(1, Math.floor((width + gap) / ((isNarrow ? 150 : 216) + gap)));
  const across = (width + gap) / columns;
  const cardWidth = across - gap;
  const thumb = { width: cardWidth, height: CARD_THUMB };
  return { columns, across, cardWidth, cardHeight: CARD, down: CARD + gap, thumb };
}

/** A heading, or a row of files. */
export interface Line {
  key: string;
  top: number;
  height: number;
  /** Empty for a row of files. */
  heading: string;
  /** How many files are below the heading. */
  count: number;
  files: SharedFile[];
  /** The index of the first file of the line. */
  start: number;
}

/** Files that follow each other below a heading. */
interface Grouping {
  isSame: (one: SharedFile, other: SharedFile) => boolean;
  toHeading: (file: SharedFile) => string;
}

const SIZES = [
  [1e9, "1 GB or more"],
  [1e8, "100 MB to 1 GB"],
  [1e7, "10 MB to 100 MB"],
  [1e6, "1 MB to 10 MB"],
  [0, "Less than 1 MB"],
] as const;

const toSizes = ({ file_size }: SharedFile) => SIZES.find(([least]) => file_size >= least)!;

const BY_DAY: Grouping = {
  isSame: (one, other) => isSameDay(one.created_at, other.created_at),
  toHeading: ({ created_at }) => formatDay(created_at),
};
const BY_SIZE: Grouping = {
  isSame: (one, other) => toSizes(one) === toSizes(other),
  toHeading: (file) => toSizes(file)[1],
};
const GROUPINGS: Record<Sort, Grouping | undefined> = {
  newest: BY_DAY,
  oldest: BY_DAY,
  name: undefined,
  size: BY_SIZE,
};

/** `files`: in this order. */
export function toLines(files: readonly SharedFile[], shape: Shape, sort: Sort): Line[] {
  const grouping = GROUPINGS[sort];
  const lines: Line[] = [];
  const push = (line: Omit<Line, "top">) => {
    const last = lines.at(-1);
    lines.push({ ...line, top: last ? last.top + last.height : 0 });
  };
  for (let start = 0; start < files.length; ) {
    const first = files[start]!;
    let end = grouping ? start + 1 : files.length;
    while (end < files.length && grouping?.isSame(first, files[end]!)) end++;
    if (grouping) {
      const heading = grouping.toHeading(first);
      push({ key: `heading ${first.id}`, height: HEADING, heading, count: end - start, files: [], start });
    }
    for (; start < end; start += shape.columns) {
      const row = files.slice(start, Math.min(start + shape.columns, end));
      push({ key: row[0]!.id, height: shape.down, heading: "", count: 0, files: row, start });
    }
    start = end;
  }
  return lines;
}

/** Returns the line that contains a file. */
export function toLine(lines: readonly Line[], at: number): Line | undefined {
  return lines.find((line) => at >= line.start && at < line.start + line.files.length);
}
