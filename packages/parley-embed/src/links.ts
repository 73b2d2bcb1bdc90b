// Links in texts. The characters of an address exclude those that are invisible or reorder others, such as U+202E.

const ADDRESS =
  /(?<![\p{L}\p{N}])(?:(?:https?:\/\/|mailto:|www\.)[^\s\p{C}\p{Default_Ignorable_Code_Point}<>"`“”«»]+|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+)/giu;
const SAFE = ["http:", "https:", "mailto:"];

export interface Link {
  text: string;
  href: string;
}

/** Splits a text into plain parts and links, in time linear in its length. */
export function splitLinks(text: string): (string | Link)[] {
  const parts: (string | Link)[] = [];
  let end = 0;
  for (const { 0: found, index } of text.matchAll(ADDRESS)) {
    const shown = withoutPunctuation(found);
    const href = toHref(shown);
    if (href === undefined) continue;
    if (index > end) parts.push(text.slice(end, index));
    parts.push({ text: shown, href });
    end = index + shown.length;
  }
  if (end < text.length) parts.push(text.slice(end));
  return parts;
}

function withoutPunctuation(address: string): string {
  let end = address.length;
  const hasBracket = address.includes("(");
  while (/[.,:;!?'’*_~\]]/.test(address[end - 1]!) || (address[end - 1] === ")" && !hasBracket)) end--;
  return address.slice(0, end);
}

/** Returns undefined if it is no address, or has a user's name, after which it would lead elsewhere than it seems. */
function toHref(shown: string): string | undefined {
  const hasScheme = /^(?:https?|mailto):/i.test(shown);
  const address = hasScheme ? shown : /^www\./i.test(shown) ? `https://${shown}` : `mailto:${shown}`;
  if (!URL.canParse(address)) return undefined;
  const { href, protocol, username, password } = new URL(address);
  return SAFE.includes(protocol) && username === "" && password === "" ? href : undefined;
}
