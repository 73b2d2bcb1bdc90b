/** The weight of a new measurement, to smooth the speed. */
const WEIGHT = 0.3;
const MEASURE_MS = 400;

/** Measures upload speed. */
export class Meter {
  /** Bytes per second; 0 if unknown. */
  speed = 0;
  #before: { at: number; sent: number } | undefined;

  note(sent: number): void {
    const at = performance.now();
    this.#before ??= { at, sent };
    const { at: start, sent: before } = this.#before;
    if (at - start < MEASURE_MS) return;
    const measured = Math.max(0, (sent - before) / (at - start)) * 1000;
    this.speed = this.speed === 0 ? measured : this.speed + (measured - this.speed) * WEIGHT;
    this.#before = { at, sent };
  }
}
