// Finds audit entries. The API has no filters for them, so this goes through its pages.
import type { AuditEntry, Page, Parley } from "../../../client/src/index.ts";

export interface TrailFilter {
  /** The id of the user who did it; null finds nothing. */
  by?: string | null;
  /** Ids or words that the entry has. */
  about?: readonly string[];
  /** An action, or the beginning of a family of actions. */
  action?: string;
  /** In seconds: from the first, and before the second. */
  from?: number;
  until?: number;
}

const PAGE = 100;
/** How many pages one call looks at, so that a filter that finds little does not ask without end. */
const MAX_PAGES = 20;

/** Goes through the audit trail, newest first, and returns what the filter finds. */
export class TrailReader {
  /** How many entries it has looked at, and when the last of them was written. */
  looked = 0;
  reached: number | undefined;
  #parley: Parley;
  #filter: TrailFilter;
  #after: string | undefined;
  #isDone: boolean;
  /** Found, and not returned yet: a page that fails must not lose those before it. */
  #found: AuditEntry[] = [];

  constructor(parley: Parley, filter: TrailFilter) {
    this.#parley = parley;
    this.#filter = filter;
    this.#isDone = filter.by === null;
  }

  /** Returns the next entries, perhaps none though there may be more. */
  async next(signal: AbortSignal): Promise<Page<AuditEntry>> {
    for (let pages = 0; pages < MAX_PAGES && !this.#isDone && this.#found.length < PAGE; pages++)
      await this.#look(signal);
    return { data: this.#found.splice(0), has_more: !this.#isDone };
  }

  async #look(signal: AbortSignal): Promise<void> {
    const query = { limit: PAGE, ...(this.#after && { starting_after: this.#after }) };
    const { data, has_more } = await this.#parley.audit.list(query, { signal });
    const last = data.at(-1);
    this.looked += data.length;
    this.reached = last?.created_at ?? this.reached;
    this.#after = last?.id ?? this.#after;
    this.#isDone = !has_more || (this.reached ?? Infinity) < (this.#filter.from ?? 0);
    this.#found.push(...data.filter((entry) => matches(entry, this.#filter)));
  }
}

export function matches(entry: AuditEntry, { by, about, action, from, until }: TrailFilter): boolean {
  if (by !== undefined && entry.actor_id !== by) return false;
  if (
    action !== undefined &&
    entry.action !== action &&
    !(action.endsWith(".") && entry.action.startsWith(action))
  )
    return false;
  if (entry.created_at < (from ?? 0) || entry.created_at >= (until ?? Infinity)) return false;
  return about === undefined || about.some((text) => isAbout(entry, text));
}

function isAbout({ object_id, token_id, details }: AuditEntry, text: string): boolean {
  if (object_id === text || token_id === text) return true;
  const wanted = text.toLowerCase();
  return Object.values(details ?? {}).some(
    (value) => typeof value === "string" && value.toLowerCase().includes(wanted),
  );
}
