/** Limits on input. The names carry the units. */
export interface Limits {
  /** Requests per second of one token, with bursts of twice as many; 0: no rate limits. */
  requestsPerSecond: number;
  /** Attempts per second of one client address with invalid tokens or links. */
  failuresPerSecond: number;
  /** The burst of such requests. */
  failuresBurst: number;
  /** 0: no limit. */
  maxFileBytes: number;
  /** The picture of a user. */
  maxAvatarBytes: number;
  /** All files that a user has uploaded, in total; 0: no quota. */
  userQuotaBytes: number;
  /** Files that one user may upload per day (UTC); 0: no limit. */
  filesPerDay: number;
  /** Patterns of media types; empty: all types. */
  allowedTypes: readonly string[];
  /** Patterns of media types that are refused. They override `allowedTypes`. */
  refusedTypes: readonly string[];
  /** Contacts of one user; 0: no limit. */
  maxContacts: number;
  /** Members of one group, including those invited. */
  maxMembers: number;
  /** How long to keep events. */
  eventDays: number;
  maxBodyBytes: number;
  /** The body of a request that sends or edits a message. Encoding makes a text longer. */
  maxMessageBodyBytes: number;
  /** Messages that one user may send per minute on one server; 0: no limit. */
  messagesPerMinute: number;
  maxHeaderBytes: number;
  maxPartHeaderBytes: number;
  /** Pipelined requests that may wait on one connection. One more closes the connection. */
  maxWaitingRequests: number;
  headersTimeoutMs: number;
  /** How long a request body may pause. */
  bodyIdleTimeoutMs: number;
  /** The average rate that a body must keep over each `bodyIdleTimeoutMs`. */
  minBodyBytesPerSecond: number;
  keepAliveTimeoutMs: number;
  /** How long a connection may be silent in both directions during an answer. */
  socketIdleTimeoutMs: number;
  /** Event streams that one user may have open. */
  eventListenersPerUser: number;
  /** Uploads that one user may run at once on one server. */
  uploadsPerUser: number;
  /** Unfinished resumable uploads of one user. */
  maxUploads: number;
  /** How long to keep a resumable upload after its last bytes. */
  uploadHours: number;
  /** The minimum that a request must add to a resumable upload, except the last request; 0: no minimum. */
  minAppendBytes: number;
  /** Whether resumable uploads are announced by an informational response (104). */
  informsOfUploads: boolean;
  /** Searches, and other requests that take several turns of the event loop, that one user may run at once on one server. */
  searchesPerUser: number;
  /** Downloads of archives that one user may run at once on one server. */
  archivesPerUser: number;
  /** Files of a conversation in one archive. */
  maxArchiveFiles: number;
  /** How often an event stream sends a heartbeat. */
  eventHeartbeatMs: number;
  /** How long a WebSocket may be open without its first frame. */
  socketFirstFrameMs: number;
  /** A frame of a WebSocket's client, in all its fragments. */
  maxSocketFrameBytes: number;
  /** WebSockets without a valid token that one address may have open. */
  pendingSocketsPerAddress: number;
  /** How long the client may stop reading an event stream before it is closed. */
  eventStallMs: number;
  /** How long a shutdown waits for running work. */
  shutdownTimeoutMs: number;
  /** Rows that one write of the eraser deletes while other writes wait. A file takes up to three rows. */
  erasedRowsAtOnce: number;
  /** A user who sees at most this many messages is searched without the index. */
  messagesReadAtOnce: number;
  /** Unexpired tokens of one user; 0: no limit. */
  maxTokens: number;
  /** Webhooks of one user; 0: no limit. */
  maxWebhooks: number;
  /** Push subscriptions of one user. */
  maxPushSubscriptions: number;
  /** Whether webhooks and push subscriptions may use private addresses and `http:`. */
  webhooksAllowPrivate: boolean;
  /** Whether webhooks of all users get ids only. */
  webhookIdsOnly: boolean;
  /** How long a delivery attempt may take, from the DNS lookup to the end of the answer. */
  webhookTimeoutMs: number;
}

/** The limits that no setting changes. */
export const LIMITS = {
  failuresPerSecond: 10,
  failuresBurst: 100,
  maxAvatarBytes: 5 * 1024 * 1024,
  maxBodyBytes: 64 * 1024,
  maxMessageBodyBytes: 256 * 1024,
  maxHeaderBytes: 16 * 1024,
  maxPartHeaderBytes: 8 * 1024,
  maxWaitingRequests: 100,
  headersTimeoutMs: 15_000,
  bodyIdleTimeoutMs: 30_000,
  minBodyBytesPerSecond: 256,
  keepAliveTimeoutMs: 72_000,
  socketIdleTimeoutMs: 120_000,
  eventListenersPerUser: 20,
  uploadsPerUser: 100,
  searchesPerUser: 4,
  archivesPerUser: 5,
  maxArchiveFiles: 1000,
  eventHeartbeatMs: 15_000,
  eventStallMs: 30_000,
  socketFirstFrameMs: 10_000,
  maxSocketFrameBytes: 16 * 1024,
  pendingSocketsPerAddress: 1000,
  maxPushSubscriptions: 20,
  webhookTimeoutMs: 15_000,
  shutdownTimeoutMs: 8_000,
  erasedRowsAtOnce: 250,
  messagesReadAtOnce: 50,
};
