import { setImmediate } from "node:timers/promises";

/** Rows that a search reads in one turn of the event loop before other requests run. */
export const ROWS_PER_TURN = 500;

let lastTurn: Promise<void> = Promise.resolve();

/**
 * Resolves in a turn of the event loop that no other search uses. So however many searches run, other requests wait for
 * one step of one of them.
 */
export function nextTurn(): Promise<void> {
  lastTurn = lastTurn.then(() => setImmediate());
  return lastTurn;
}
