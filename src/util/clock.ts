/** Milliseconds since the Unix epoch (UTC). */
export type Clock = () => number;

export const systemClock: Clock = Date.now;

/** The API's unit of time: whole Unix seconds. */
export function toSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}
