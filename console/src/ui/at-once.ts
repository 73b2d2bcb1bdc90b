const AT_ONCE = 4;

/** Calls a function for each item, a few at once, and for no more after an error. */
export async function forEachAtOnce<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const work = async () => {
    try {
      for (let item = left.shift(); item !== undefined; item = left.shift()) await act(item);
    } finally {
      left.length = 0;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}
