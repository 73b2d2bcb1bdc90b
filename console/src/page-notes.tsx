// What stands in place of a list, or below it, while a page is read or when it could not be.
import type { Pages } from "./use-pages.ts";

/** Shows after a moment only: what is there at once needs no word. */
export function Reading({ text = "Reading…" }: { text?: string }) {
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
      <button type="button" class="button" onClick={pages.retry}>
        Try again
      </button>
    </div>
  );
}
