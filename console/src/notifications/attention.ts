// Whether the user looks at a window of the console. All windows of a browser share the answer, by a lock.
// Windows may have different users.
const toLock = (userId: string) => `parley-attention ${userId}`;

/** Holds the lock while the user looks at this window. Returns a function that ends this. */
export function holdAttention(userId: string): () => void {
  const ended = new AbortController();
  let release: (() => void) | undefined;
  const update = () => {
    const isHere = isLookedAt() && !ended.signal.aborted;
    if (isHere === (release !== undefined)) return;
    release?.();
    release = undefined;
    if (!isHere) return;
    const left = new Promise<void>((resolve) => {
      release = resolve;
    });
    void navigator.locks?.request(toLock(userId), { mode: "shared" }, () => left);
  };
  const options = { signal: ended.signal };
  for (const name of ["focus", "blur"]) addEventListener(name, update, options);
  document.addEventListener("visibilitychange", update, options);
  update();
  return () => {
    ended.abort();
    update();
  };
}

/** Reports whether the user looks at this window. */
export function isLookedAt(): boolean {
  return !document.hidden && document.hasFocus();
}

/** Reports whether the user looks at any window of the console in this browser. */
export async function isAnyLookedAt(userId: string): Promise<boolean> {
  const { held = [] } = (await navigator.locks?.query()) ?? {};
  return isLookedAt() || held.some(({ name }) => name === toLock(userId));
}
