// Polls the metrics of the server while the overview is open, and keeps samples for the charts.
import { type Parley, ParleyApiError } from "../../../packages/parley-client/src/index.ts";
import { HERE } from "../session/session.ts";
import { type Figures, type Metrics, parseMetrics, type Sample, toFigures } from "./metrics.ts";

/** The time span of the charts, in seconds. */
const WINDOW = 900;

export class MetricsFeed {
  figures: Figures[] = [];
  /** Undefined until the first answer. */
  metrics: Metrics | undefined;
  isReady: boolean | undefined;
  /** Why the last request failed; undefined if it did not. */
  failure: unknown;
  #parley: Parley;
  #refused: (error: unknown) => void;
  #last: Sample | undefined;
  #isReading = false;

  constructor(parley: Parley, refused: (error: unknown) => void) {
    this.#parley = parley;
    this.#refused = refused;
  }

  /** Reads once. Does nothing while another request is running. */
  async read(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      const [isReady, text] = await Promise.all([checkReady(), this.#parley.metrics()]);
      this.isReady = isReady;
      this.#add({ at: Date.now() / 1000, metrics: parseMetrics(text) });
      this.failure = undefined;
    } catch (error) {
      this.failure = error;
      this.#refused(error);
    } finally {
      this.#isReading = false;
    }
  }

  #add(sample: Sample): void {
    const figures = toFigures(this.#last, sample);
    this.figures = [...this.figures.filter(({ at }) => at > sample.at - WINDOW), figures];
    this.metrics = sample.metrics;
    this.#last = sample;
  }
}

async function checkReady(): Promise<boolean> {
  const response = await fetch(`${HERE}/readyz`).catch((cause) => {
    const detail = "The connection to the server failed.";
    throw new ParleyApiError({ code: "connection_failed", status: 0, detail, cause });
  });
  return response.ok;
}
