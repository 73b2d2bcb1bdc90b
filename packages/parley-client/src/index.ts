export type { Download, DownloadOptions, DownloadProgress } from "./download.ts";
export { type ErrorCode, ParleyApiError } from "./errors.ts";
export type { StreamOptions } from "./events.ts";
export type { List, Page } from "./list.ts";
export type { MessageChange, MessageWatchOptions } from "./message-watch.ts";
export type { SendOptions } from "./messages.ts";
export { Parley } from "./parley.ts";
export type { components, operations } from "./schema.ts";
export type { UploadSource } from "./source.ts";
export type { WatchOptions } from "./state-watch.ts";
export type { StreamState } from "./states.ts";
export {
  type CallOptions,
  type ChangeOptions,
  type CreateOptions,
  etagOf,
  type ParleyOptions,
  randomKey,
} from "./transport.ts";
export type * from "./types.ts";
export type { AvatarOptions, UploadOptions, UploadProgress } from "./upload.ts";
export type { AppendOptions, ResumableOptions } from "./uploads.ts";
