// A transport that loses, delays, doubles and cuts, as `fetch`.
import type { Chance } from "../support/scale.ts";

/** How often each thing happens to a request, from 0 to 1. */
export interface Faults {
  loseRequest: number;
  loseAnswer: number;
  double: number;
  delay: number;
  cut: number;
}

export const NONE: Faults = { loseRequest: 0, loseAnswer: 0, double: 0, delay: 0, cut: 0 };
export const BAD: Faults = { loseRequest: 0.1, loseAnswer: 0.1, double: 0.15, delay: 0.3, cut: 0.1 };
/** Cuts come within this many bytes of an answer: some in mid-event, some in mid-character. */
const CUT_WITHIN = 4_000;
const MAX_DELAY_MS = 15;

export class BadNetwork {
  faults = NONE;
  readonly #chance: Chance;
  readonly #cuts = new Set<() => void>();
  #isAway = false;
  /** How often each fault has happened. */
  readonly met = { ...NONE };

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  /** Nothing arrives, and what is open is cut, as for a device that sleeps or a process that is gone. */
  leave(): void {
    this.#isAway = true;
    this.cut();
  }

  return(): void {
    this.#isAway = false;
  }

  /** Cuts all answers that are being received. */
  cut(): void {
    for (const cut of this.#cuts) cut();
  }

  readonly fetch: typeof fetch = async (input, init) => {
    const { faults } = this;
    const hits = (name: keyof Faults) => {
      const isHit = this.#chance() < faults[name];
      if (isHit) this.met[name]++;
      return isHit;
    };
    if (hits("delay")) await this.#pause();
    if (this.#isAway || hits("loseRequest")) throw new TypeError("lost");
    const isRepeatable = typeof init?.body === "string" || init?.body == null;
    if (isRepeatable && hits("double"))
      void fetch(input, { ...init, signal: null })
        .then((answer) => answer.body?.cancel())
        .catch(() => {});
    const answer = await fetch(input, init);
    if (hits("delay")) await this.#pause();
    if (this.#isAway || hits("loseAnswer")) {
      await answer.body?.cancel();
      throw new TypeError("lost");
    }
    return answer.body ? this.#cuttable(answer, hits("cut")) : answer;
  };

  #pause(): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, this.#chance() * MAX_DELAY_MS));
  }

  /** Returns the answer with a body that ends with an error when it is cut. */
  #cuttable(answer: Response, isCut: boolean): Response {
    let left = isCut ? Math.floor(this.#chance() * CUT_WITHIN) : Number.POSITIVE_INFINITY;
    const reader = answer.body!.getReader();
    let cut = () => {};
    const end = () => void this.#cuts.delete(cut);
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        cut = () => {
          end();
          controller.error(new TypeError("cut"));
          void reader.cancel().catch(() => {});
        };
        this.#cuts.add(cut);
      },
      pull: async (controller) => {
        const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }));
        if (!this.#cuts.has(cut)) return;
        if (done) {
          end();
          return controller.close();
        }
        controller.enqueue(value!.subarray(0, left));
        left -= value!.length;
        if (left < 0) cut();
      },
      cancel: (reason) => {
        end();
        return reader.cancel(reason);
      },
    });
    const { status, headers } = answer;
    return new Response(body, { status, headers });
  }
}
