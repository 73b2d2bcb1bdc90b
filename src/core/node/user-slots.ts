/**
 * Takes one of a user's slots until it is disposed of. `taken` counts those of each user. Returns undefined if the user has
 * taken `limit`.
 */
export function takeSlot(taken: Map<string, number>, userId: string, limit: number): Disposable | undefined {
  const others = taken.get(userId) ?? 0;
  if (others >= limit) return undefined;
  taken.set(userId, others + 1);
  const free = () => {
    const left = taken.get(userId)! - 1;
    if (left > 0) taken.set(userId, left);
    else taken.delete(userId);
  };
  return { [Symbol.dispose]: free };
}
