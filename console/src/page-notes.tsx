// What a list shows while a page loads, or if it failed.
import type { Pages } from "./use-pages.ts";

/** Shows after a delay only, so that a fast answer does not flicker. */
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
