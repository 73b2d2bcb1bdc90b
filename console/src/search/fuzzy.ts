// Finds names by a few of their letters.

/** Scores how well a name matches the typed text: more is better, undefined is no match. Ignores case and accents. */
export function scoreName(name: string, typed: string): number | undefined {
  const text = fold(name);
  const wanted = fold(typed);
  const at = text.indexOf(wanted);
  if (at === 0) return 4;
  if (at > 0) return isStart(text, at) ? 3 : 2;
  return scoreLetters(text, wanted);
}

/** Scores letters that occur in the name in this order, by how many begin a word or follow the previous one. */
function scoreLetters(text: string, wanted: string): number | undefined {
  const letters = [...wanted].filter((letter) => letter.trim() !== "");
  let from = 0;
  let good = 0;
  for (const letter of letters) {
    const next = text.indexOf(letter, from);
    const start = findStart(text, letter, from);
    // Try the next word before the next letter, as for initials.
    const at = next === from || start < 0 ? next : start;
    if (at < 0) return undefined;
    if (at === from || isStart(text, at)) good++;
    from = at + 1;
  }
  return good / letters.length;
}

function findStart(text: string, letter: string, from: number): number {
  let at = text.indexOf(letter, from);
  while (at >= 0 && !isStart(text, at)) at = text.indexOf(letter, at + 1);
  return at;
}

function isStart(text: string, at: number): boolean {
  return at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1]!);
}

function fold(text: string): string {
  return text
    .normalize("NFD")
    .replace(/\p{Mn}/gu, "")
    .toLowerCase();
}
