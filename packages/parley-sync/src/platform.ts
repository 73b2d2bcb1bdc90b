/** What the engine takes from its surroundings, so that a test can replace it. */
export interface Platform {
  /** Milliseconds. */
  now(): number;
  /** 0 to 1. */
  random(): number;
  /** Calls back after some milliseconds. Returns a function that cancels this. */
  after(ms: number, callback: () => void): () => void;
}

export const realPlatform: Platform = {
  now: () => Date.now(),
  random: () => Math.random(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

const DIGITS = "0123456789abcdefghjkmnpqrstvwxyz";

/** Returns 130 random bits. Not for secrets. */
export function randomId({ random }: Platform): string {
  return Array.from({ length: 26 }, () => DIGITS[Math.floor(random() * 32)]).join("");
}

interface Browser {
  addEventListener(type: "online", listener: () => void): void;
  removeEventListener(type: "online", listener: () => void): void;
}

/** Calls back when a browser is online again. Returns a function that ends this. */
export function onOnline(listener: () => void): () => void {
  const browser = globalThis as Partial<Browser>;
  browser.addEventListener?.("online", listener);
  return () => browser.removeEventListener?.("online", listener);
}

/** Node 20 has no Array.fromAsync. */
export async function readAll<T>(list: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of list) items.push(item);
  return items;
}
