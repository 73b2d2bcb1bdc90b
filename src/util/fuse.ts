import { ParleyError } from "../errors.ts";

/**
 * Blows on a failed sync: the disk's contents are then unknown, and another sync would not reveal that. From then on
 * nothing is written until the process restarts.
 */
export interface Fuse {
  readonly blown: boolean;
  blow(cause: unknown): void;
  /** Throws `unavailable` once the fuse is blown. */
  check(): void;
}

/** Creates a fuse. `onBlow` is called once. */
export function createFuse(onBlow: (cause: unknown) => void): Fuse {
  let blown = false;
  return {
    get blown() {
      return blown;
    },
    blow(cause) {
      if (!blown) onBlow(cause);
      blown = true;
    },
    check() {
      if (blown)
        throw new ParleyError(
          "unavailable",
          "A disk failed. The operator must look at it and restart the server.",
        );
    },
  };
}
