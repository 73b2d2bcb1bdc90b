import type { Resolver } from "node:dns/promises";
import type { BlobStore } from "../blobs/store.ts";
import type { Limits } from "../config.ts";
import type { Database } from "../db/database.ts";
import type { Clock } from "../util/clock.ts";
import type { Fuse } from "../util/fuse.ts";
import type { NewId, Random } from "../util/ids.ts";
import type { Activity } from "./activity.ts";
import type { VerifiedTokens } from "./caller.ts";
import type { DownloadLog } from "./download-log.ts";
import type { EventHub } from "./event-hub.ts";
import type { KeySet } from "./key-set.ts";
import type { Links } from "./links.ts";
import type { Seal } from "./seal.ts";

/** What users and tokens need; also commands beside a running server have it. */
export interface Accounts {
  db: Database;
  clock: Clock;
  newId: NewId;
  random: Random;
  /** Called after a commit that left tombstones, so that their bytes are erased at once. */
  wakeEraser: () => void;
  limits: Limits;
}

/** Whose signed tokens (JWT) are taken. */
export interface IdentityProvider {
  issuer: string;
  audience: string;
  keys: KeySet;
}

/** What the functions of this room work with; made once, by the composition root. */
export interface Core extends Accounts {
  blobs: BlobStore;
  links: Links;
  /** Whether a disk has failed. */
  fuse: Fuse;
  verifiedTokens: VerifiedTokens;
  activity: Activity;
  seal: Seal;
  eventHub: EventHub;
  /** Makes what asks the DNS for the names that users choose. */
  makeResolver: () => Resolver;
  /** Users and Idempotency-Keys of the requests that are under way. */
  keysUnderWay: Set<string>;
  /** Null: there is none. */
  identityProvider: IdentityProvider | null;
  /** Downloads by link that are to go into the audit trail. */
  downloadLog: DownloadLog;
  /** Attachments whose bytes were found damaged since the start. */
  damaged: Set<string>;
  /** The public address, without a slash at its end; known once the server listens. */
  origin: () => string;
}
