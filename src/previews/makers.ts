import { childCommand } from "./command.ts";
import { CHEAP, type Size, toCost } from "./cost.ts";
import { type Made, type Picture, PreviewMaker } from "./maker.ts";

/** A picture whose cost is not computed yet. Without a shape it costs as much as the largest. */
export type NewPicture = Omit<Picture, "cost"> & { shape: Size | null };

/**
 * Two processes that make previews. A decoder cannot be interrupted: with one process, a cheap preview would wait for
 * an expensive one.
 */
export class PreviewMakers {
  readonly #cheap: PreviewMaker;
  readonly #dear: PreviewMaker;
  /** Whether this machine can set the kernel's limits. */
  readonly isLimited: boolean;

  /** `readable`: the folders of sharp. `onFailure` is called when a process itself does not work. */
  constructor(readable: readonly string[], onFailure: (error: unknown) => void) {
    const { command, isLimited } = childCommand(readable);
    this.#dear = new PreviewMaker(command, onFailure);
    // Do not trust the size in the row: the cheap process enforces its own limit.
    this.#cheap = new PreviewMaker(command, onFailure, { maxPixels: CHEAP });
    this.isLimited = isLimited;
  }

  /** Resolves when no expensive preview is waiting. */
  get quiet(): Promise<void> {
    return this.#dear.done;
  }

  /**
   * Makes a preview like `PreviewMaker`. `isUrgent`: a request waits for it. Other previews never delay a cheap one,
   * and delay an expensive one by at most one turn, if the caller first waits for `quiet`.
   */
  make(picture: NewPicture, width: number, isUrgent: boolean): Promise<Made | null> {
    const cost = toCost(picture, width);
    return (isUrgent && cost <= CHEAP ? this.#cheap : this.#dear).make({ ...picture, cost }, width);
  }

  /** Ends both processes. Pictures that still wait fail. */
  async close(): Promise<void> {
    await Promise.all([this.#cheap.close(), this.#dear.close()]);
  }
}
