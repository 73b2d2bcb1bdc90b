/** More segments than any path has. */
const MAX_SEGMENTS = 8;
/** The maximum number of wrong or missing letters in a segment, or a third of its letters if that is less. */
const MAX_WRONG = 4;
/** Penalties in letters: for a missing last value, and for a superfluous last segment. */
const MISSING = 1;
const NEEDLESS = 4;

/**
 * Returns the path that is most similar to the requested one; undefined if none is similar. `paths` are in the form of the
 * document (`/v1/contacts/{contact_id}`). The work is bounded, however long the requested path is.
 */
export function nearestPath(requested: string, paths: readonly string[]): string | undefined {
  const segments = toSegments(requested.toLowerCase());
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

function countWrong(requested: readonly string[], path: readonly string[]): number {
  const more = requested.length - path.length;
  if (Math.abs(more) > 1) return Number.POSITIVE_INFINITY;
  let wrong = more > 0 ? NEEDLESS : 0;
  for (const [i, segment] of path.entries()) {
    const typed = requested[i];
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
