// What a list shows while a page loads or after it failed.
import { Icon } from "./icons.tsx";
import type { Pages } from "./use-pages.ts";

/** Appears only after a delay, so that a fast answer does not flicker. */
export function Reading({ text = "Loading…" }: { text?: string }) {
  return (
    <p class="reading muted small" role="status">
      {text}
    </p>
  );
}

export function PageFailure({ pages }: { pages: Pick<Pages<unknown>, "failure" | "retry"> }) {
  if (!pages.failure) return null;
  return (
    <div class="page-failure" role="alert">
      <p class="failure">{pages.failure}</p>
      {pages.retry && (
        <button type="button" class="button" onClick={pages.retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Names the data that the token lacks the scope for, in place of the data. */
export function NotAllowed({ what }: { what: string }) {
  return (
    <div class="empty">
      <span class="empty-art">
        <Icon name="key" />
      </span>
      <p class="muted">{toNotAllowed(what)}</p>
    </div>
  );
}

export function toNotAllowed(what: string): string {
  return `Your access token does not allow you to ${what}.`;
}

/** Returns how many were found; empty until that is known. */
export function toCount({
  items,
  hasMore,
  current,
  failure,
}: Pick<Pages<unknown>, "items" | "hasMore" | "current" | "failure">): string {
  if (!current || failure) return "";
  return `${items.length || "None"}${hasMore ? "+" : ""} found`;
}
