import type { Resolver } from "node:dns/promises";
import type { BlobStore } from "../../blobs/store.ts";
import type { JwtSettings } from "../../config/jwt-settings.ts";
import type { Limits } from "../../config/limits.ts";
import type { Database } from "../../db/database.ts";
import type { QuickReader } from "../../db/sql.ts";
import type { Clock } from "../../util/clock.ts";
import type { Fuse } from "../../util/fuse.ts";
import type { NewId, Random } from "../../util/ids.ts";
import type { PushIdentity } from "../../util/web-push.ts";
import type { Activity } from "./activity.ts";
import type { VerifiedTokens } from "./caller.ts";
import type { DownloadLog } from "./download-log.ts";
import type { EventHub } from "./event-hub.ts";
import type { KeySet } from "./key-set.ts";
import type { Links } from "./links.ts";
import type { MessageRates } from "./message-rates.ts";
import type { OpenId } from "./openid.ts";
import type { Previews } from "./previews.ts";
import type { Resumables } from "./resumables.ts";
import type { Scanner } from "./scanner.ts";
import type { Seal } from "./seal.ts";
import type { Space } from "./space.ts";
import type { Typists } from "./typists.ts";

/**
 * The part of the core that reads and writes rows. Commands beside a running server have only this. Functions that only read take
 * one with a `QuickReader`, which may be that of one state of the database.
 */
export interface DataAccess<D extends QuickReader = Database> {
  db: D;
  clock: Clock;
  newId: NewId;
  random: Random;
  /** Called after a commit that left rows or files to erase. */
  wakeEraser: () => void;
  /** Called after a commit that changed the profile of a user. */
  wakeProfiles: () => void;
  limits: Limits;
  /** The public base URL without a trailing slash; on a server known once it listens. */
  origin: () => string;
  /** The issuer of an identity that names none: that of the accepted JWTs, or empty. */
  issuer: string;
}

/** Which JWTs are accepted: their claims, and the keys that verify them. */
export interface IdentityProvider extends JwtSettings {
  /** Null if no key set is configured. */
  keySet: KeySet | null;
}

/** The context of all functions of `core/`. `app.ts` creates it once. */
export interface Core<D extends QuickReader = Database> extends DataAccess<D> {
  blobs: BlobStore;
  links: Links;
  /** Null if files are not scanned for viruses. */
  scanner: Scanner | null;
  /** Null if no previews of pictures are made. */
  previews: Previews | null;
  /** Blown once a disk has failed. */
  fuse: Fuse;
  space: Space;
  verifiedTokens: VerifiedTokens;
  activity: Activity;
  seal: Seal;
  eventHub: EventHub;
  pushIdentity: PushIdentity;
  /** Creates the DNS resolver for host names that users choose. */
  makeResolver: () => Resolver;
  /** User and Idempotency-Key of each running request. */
  runningKeys: Set<string>;
  /** How many uploads of each user are running on this node. */
  runningUploads: Map<string, number>;
  resumables: Resumables;
  /** How many archives of each user are being downloaded from this node. */
  runningArchives: Map<string, number>;
  /** Limits the messages that users send to others; null if nothing is limited by its rate. */
  messageRates: MessageRates | null;
  typists: Typists;
  /** Null if none is configured. */
  identityProvider: IdentityProvider | null;
  /** Signs users in to the console; null if it is not configured. */
  openId: OpenId | null;
  /** Downloads by link, to be written into the audit trail. */
  downloadLog: DownloadLog;
  /** Attachments found damaged since the start. */
  damaged: Set<string>;
}
