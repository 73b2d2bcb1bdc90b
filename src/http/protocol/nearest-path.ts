/** More segments than any path has. */
const MAX_SEGMENTS = 8;
/** Letters of a segment that may be wrong or missing; of shorter ones a third. */
const MAX_WRONG = 4;
/** What a last segment counts, in letters: a value that is missing, and one too many. */
const MISSING = 1;
const NEEDLESS = 4;

/**
 * Returns the one of the paths, as documents write them (`/v1/contacts/{contact_id}`), that is most like the asked one; undefined if
 * none is like it. Looks at a few letters of a few segments, however long the asked path is.
 */
export function nearestPath(asked: string, paths: readonly string[]): string | undefined {
  const segments = toSegments(asked.toLowerCase());
  let nearest: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const path of paths) {
    const wrong = countWrong(segments, toSegments(path));
    if (wrong >= least) continue;
    nearest = path;
    least = wrong;
  }
  return nearest;
}

function toSegments(path: string): string[] {
  return path.split("/", MAX_SEGMENTS + 2).filter((segment) => segment !== "");
}

function countWrong(asked: readonly string[], path: readonly string[]): number {
  const more = asked.length - path.length;
  if (Math.abs(more) > 1) return Number.POSITIVE_INFINITY;
  let wrong = more > 0 ? NEEDLESS : 0;
  for (const [i, segment] of path.entries()) {
    const typed = asked[i];
    if (!segment.startsWith("{")) wrong += countWrongLetters(typed ?? "", segment);
    else if (typed === undefined) wrong += MISSING;
  }
  return wrong;
}

/** Returns the Levenshtein distance; infinity if it is more than a third of the known word. */
function countWrongLetters(typed: string, known: string): number {
  const most = Math.min(MAX_WRONG, Math.ceil(known.length / 3));
  if (Math.abs(typed.length - known.length) > most) return Number.POSITIVE_INFINITY;
  let before = Array.from({ length: known.length + 1 }, (_, i) => i);
  for (let i = 0; i < typed.length; i++) {
    const row = [i + 1];
    for (let j = 0; j < known.length; j++)
      row.push(Math.min(row[j]! + 1, before[j + 1]! + 1, before[j]! + (typed[i] === known[j] ? 0 : 1)));
    before = row;
  }
  const wrong = before.at(-1)!;
  return wrong > most ? Number.POSITIVE_INFINITY : wrong;
}
