/** A member of Accept-Encoding: a content coding and its weight (RFC 9110, section 12.5.3). */
const MEMBER = /^([\w!#$%&'*+.^`|~-]+)[ \t]*(?:;[ \t]*q=([01](?:\.\d{0,3})?))?$/i;

/**
 * Returns the offered content coding that the client prefers, the first if several are equal; undefined if it prefers none.
 * Ignores malformed members.
 */
export function chooseCoding(accepted: string, offered: readonly string[]): string | undefined {
  const weights = new Map<string, number>();
  for (const member of accepted.split(",")) {
    const [, coding, weight = "1"] = MEMBER.exec(member.trim()) ?? [];
    if (coding !== undefined) weights.set(coding.toLowerCase(), Number(weight));
  }
  let chosen: string | undefined;
  // The client need not list `identity`, but can prefer it.
  let best = weights.get("identity") ?? 0;
  for (const coding of offered) {
    const weight = weights.get(coding) ?? weights.get("*") ?? 0;
    const isBetter = chosen === undefined ? weight >= best && weight > 0 : weight > best;
    if (!isBetter) continue;
    chosen = coding;
    best = weight;
  }
  return chosen;
}
