import type { BlobStore } from "../blobs/store.ts";
import type { Database } from "../db/database.ts";
import type { Clock } from "../util/clock.ts";
import type { NewId, Random } from "../util/ids.ts";
import type { Links } from "./links.ts";

/** What the functions of this room work with; made once, by the composition root. */
export interface Core {
  db: Database;
  blobs: BlobStore;
  clock: Clock;
  newId: NewId;
  random: Random;
  links: Links;
  /** The public address, without a slash at its end; known once the server listens. */
  origin: () => string;
  /** Called after a commit that left tombstones, so that their bytes are erased at once. */
  wakeEraser: () => void;
}
