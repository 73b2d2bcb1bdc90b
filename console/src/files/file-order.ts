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
export type Type = (typeof TYPES)[number][0];

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
const DAY = 40;

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
  day: string;
  files: SharedFile[];
  /** The index of the first file of the line. */
  start: number;
}

export function toLines(files: readonly SharedFile[], shape: Shape, isByDay: boolean): Line[] {
  const lines: Line[] = [];
  const push = (line: Omit<Line, "top">) => {
    const last = lines.at(-1);
    lines.push({ ...line, top: last ? last.top + last.height : 0 });
  };
  for (let start = 0; start < files.length; ) {
    const first = files[start]!;
    const isOnDay = (file: SharedFile | undefined) => file && isSameDay(file.created_at, first.created_at);
    if (isByDay && !isOnDay(files[start - 1])) {
      push({
        key: `day ${first.created_at}`,
        height: DAY,
        day: formatDay(first.created_at),
        files: [],
        start,
      });
    }
    let end = start + 1;
    while (end < Math.min(start + shape.columns, files.length) && (!isByDay || isOnDay(files[end]))) end++;
    push({ key: first.id, height: shape.down, day: "", files: files.slice(start, end), start });
    start = end;
  }
  return lines;
}

/** Returns the line that contains a file. */
export function toLine(lines: readonly Line[], at: number): Line | undefined {
  return lines.find((line) => at >= line.start && at < line.start + line.files.length);
}
