import { childCommand } from "./command.ts";
import { CHEAP, costOf, type Size } from "./cost.ts";
import { type Made, type Picture, PreviewMaker } from "./maker.ts";

/** A picture before it is known what its preview costs. Without a size it costs as much as the largest. */
export type NewPicture = Omit<Picture, "cost"> & { shape: Size | null };

/**
 * Two processes that make previews: a decoder cannot be interrupted, so a cheap preview would have to wait while a dear one is made.
 */
export class PreviewMakers {
  readonly #cheap: PreviewMaker;
  readonly #dear: PreviewMaker;
  /** Whether this machine sets the limits of the kernel. */
  readonly isLimited: boolean;

  /** `readable`: the folders of sharp. `onFailure` is called if a process itself does not work. */
  constructor(readable: readonly string[], onFailure: (error: unknown) => void) {
    const { command, isLimited } = childCommand(readable);
    this.#dear = new PreviewMaker(command, onFailure);
    // What the row of a file says of its size must not be believed.
    this.#cheap = new PreviewMaker(command, onFailure, { maxPixels: CHEAP });
    this.isLimited = isLimited;
  }

  /** Resolves when no dear preview is waited for. */
  get quiet(): Promise<void> {
    return this.#dear.done;
  }

  /**
   * Makes a preview as `PreviewMaker` does. `isUrgent`: a request waits for it. Others never delay cheap ones, and dear ones by
   * one turn at most, if they begin when it is quiet.
   */
  make(picture: NewPicture, width: number, isUrgent: boolean): Promise<Made | null> {
    const cost = costOf(picture, width);
    return (isUrgent && cost <= CHEAP ? this.#cheap : this.#dear).make({ ...picture, cost }, width);
  }

  /** Ends the processes, and all that waits. */
  async close(): Promise<void> {
    await Promise.all([this.#cheap.close(), this.#dear.close()]);
  }
}
