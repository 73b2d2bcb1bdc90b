import { ParleyApiError, parseJson, readError, redirected, unexpectedAnswer } from "./errors.ts";
import { isLost, isPassing, pauseBefore, sleep } from "./retries.ts";
import { Watch } from "./watch.ts";

/** How to reach a server. */
export interface ParleyOptions {
  /** The server's URL, such as `https://chat.example.com`, with a path if it has one. */
  url: string;
  /**
   * An access token, or a function that returns one, called before each request. In a page of the server itself it can be
   * the key of a session, whose cookie the browser sends.
   */
  token: string | (() => string | Promise<string>) | { session: string };
  /**
   * Sends all requests as this user, with the rights of the token: an id, or `username:` and a username. The token needs the scope
   * `act_as`.
   */
  actAs?: string | undefined;
  /** Replaces the global `fetch`. */
  fetch?: typeof fetch | undefined;
  /**
   * Replaces the global `WebSocket`, over which events arrive. False for server-sent events, which are also used without a global
   * `WebSocket`, with another `fetch`, and if the server cannot be reached by WebSocket.
   */
  webSocket?: typeof WebSocket | false | undefined;
  /** How often to retry after a temporary failure; 4 by default. Messages are also limited by it if it is given. */
  maxRetries?: number | undefined;
  /** For how long to retry to send a message, in milliseconds; 60,000 by default. */
  retryForMs?: number | undefined;
  /** How long nothing may be sent or received, in milliseconds; 60,000 by default, 0 for no limit. */
  timeoutMs?: number | undefined;
  /** Called before each retry with the pause in milliseconds and the error. */
  onWait?: ((ms: number, error: ParleyApiError) => void) | undefined;
}

export interface CallOptions {
  /** Aborts the request: its promise rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

export interface CreateOptions extends CallOptions {
  /** 1 to 255 visible ASCII characters. The server executes requests with the same key once. Random by default. */
  idempotencyKey?: string | undefined;
}

export interface ChangeOptions extends CallOptions {
  /** The ETag of the version to change (see `etagOf`): 412 `precondition_failed` if the resource has changed. */
  ifMatch?: string | undefined;
}

/** A request, with everything needed to repeat it. */
interface Call extends CreateOptions, ChangeOptions {
  method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The segments below the server's URL, not encoded. */
  path: readonly string[];
  query?: object | undefined;
  /** Sent as JSON. */
  body?: unknown;
  headers?: Record<string, string> | undefined;
  /** Replaces `fetch` for this request. */
  send?: Send | undefined;
  /** For how long it is retried, if not a number of times. */
  retryForMs?: number | undefined;
  /** Whether the request can be repeated; true by default. */
  canRepeat?: (() => boolean) | undefined;
  /** Replaces `timeoutMs`. */
  idleMs?: number | undefined;
  /** By default a redirect is an error: it can turn a POST into a GET and drop the token. */
  redirect?: "follow" | undefined;
  /** Whether it deletes the resource: then a retry that finds nothing means that the first attempt succeeded. */
  isRemoval?: boolean | undefined;
}

/** What authenticates a request: a token, or the key of a session. */
interface Credentials {
  token?: string;
  session?: string;
  act_as: string | undefined;
}

/** A request as it is sent. */
interface Outgoing {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: string | undefined;
  redirect: "follow" | "manual";
}

/** Sends a request and resolves with the head of the answer. Throws the errors of the network. */
export type Send = (outgoing: Outgoing, watch: Watch) => Promise<Response>;

/** An answer whose body is not read yet, with the watch of its request. */
export interface WatchedResponse {
  response: Response;
  watch: Watch;
}

const MAX_RETRIES = 4;
const RETRY_FOR_MS = 60_000;
const TIMEOUT_MS = 60_000;

const heads = new WeakMap<object, Headers>();

/** Returns the ETag of a resource, for `ifMatch`; undefined for one that came in a list. */
export function etagOf(resource: object): string | undefined {
  // A proxy that compresses answers marks the tag as weak.
  return heads.get(resource)?.get("etag")?.replace(/^W\//, "");
}

/** Returns the query of the page that comes after this one, or before it; undefined if there is none. */
export function neighbourOf(page: object, rel: "next" | "prev"): Record<string, string> | undefined {
  const link = heads.get(page)?.get("link");
  const address = link?.match(new RegExp(`<([^>]*)>; rel="${rel}"`))?.[1];
  return address === undefined ? undefined : Object.fromEntries(new URL(address).searchParams);
}

/** Returns the cursor of a page of events: everything after it is newer than the page. */
export function cursorOf(page: object): string {
  return toCursor(heads.get(page)!);
}

/** Returns the cursor of an answer with events. */
export function toCursor(headers: Headers): string {
  const id = headers.get("last-event-id");
  if (id === null) throw unexpectedAnswer(200);
  return id;
}

/** Sends requests, and retries after temporary failures if that is safe. */
export class Transport {
  /** The caller's own `fetch`, if given. */
  readonly #fetch: typeof fetch | undefined;
  /** Undefined if events do not arrive over a WebSocket. */
  readonly WebSocket: typeof WebSocket | undefined;
  readonly #url: string;
  readonly #token: ParleyOptions["token"];
  readonly #actAs: string | undefined;
  readonly #maxRetries: number | undefined;
  /** For how long messages are retried. */
  readonly retryForMs: number;
  readonly #timeoutMs: number;
  readonly #onWait: ParleyOptions["onWait"];

  /** Throws a TypeError for an invalid `url` or a missing token. */
  constructor({
    url,
    token,
    actAs,
    fetch,
    webSocket = fetch ? false : globalThis.WebSocket,
    maxRetries,
    retryForMs = RETRY_FOR_MS,
    timeoutMs = TIMEOUT_MS,
    onWait,
  }: ParleyOptions) {
    this.#url = toBaseUrl(url);
    const isSession = typeof token === "object" && typeof token?.session === "string";
    if (typeof token !== "function" && (typeof token !== "string" || token === "") && !isSession)
      throw new TypeError("token must be an access token, or a function that returns one.");
    this.#token = token;
    this.#actAs = actAs === undefined ? undefined : toActAs(actAs);
    this.#fetch = fetch;
    this.WebSocket = webSocket || undefined;
    this.#maxRetries = maxRetries;
    this.retryForMs = retryForMs;
    this.#timeoutMs = timeoutMs;
    this.#onWait = onWait;
  }

  /** Whether the caller replaced `fetch`. */
  get hasOwnFetch(): boolean {
    return this.#fetch !== undefined;
  }

  /** Sends a request and resolves with the JSON of its answer, or undefined if it has none. */
  call<T>(call: Call): Promise<T> {
    return this.#read(
      call,
      (text, response) => (response.status === 204 ? undefined : parse(text, response)) as T,
    );
  }

  /** Sends a request and resolves with the text of its answer. */
  text(call: Call): Promise<string> {
    return this.#read(call, (text) => text);
  }

  #read<T>(call: Call, toResult: (text: string, response: Response) => T): Promise<T> {
    return this.#repeat(call, async (headers) => {
      const { response, watch } = await this.#attempt(call, headers);
      try {
        watch.start();
        return toResult(await response.text(), response);
      } catch (error) {
        throw error instanceof ParleyApiError ? error : watch.toError(error);
      } finally {
        watch.stop();
      }
    });
  }

  /** Deletes a resource. */
  remove(path: readonly string[], options: ChangeOptions, query?: object): Promise<void> {
    return this.call({ ...options, method: "DELETE", path, query, isRemoval: true });
  }

  /** Sends a request and resolves with the head of a successful answer. */
  open(call: Call): Promise<WatchedResponse> {
    return this.#repeat(call, (headers) => this.#attempt(call, headers));
  }

  /** Attempts a request until it succeeds or may not be retried. All attempts have the same key, by which the server recognizes them. */
  async #repeat<T>(call: Call, attempt: (headers: Record<string, string>) => Promise<T>): Promise<T> {
    const headers = toHeaders(call);
    const until = call.retryForMs === undefined ? undefined : performance.now() + call.retryForMs;
    let mayBeDone = false;
    for (let failures = 1; ; failures++) {
      try {
        return await attempt(headers);
      } catch (error) {
        // The first attempt deleted the resource, and its answer was lost.
        if (mayBeDone && call.isRemoval && isNotFound(error)) return undefined as T;
        if (!isPassing(error) || call.canRepeat?.() === false) throw error;
        mayBeDone ||= isLost(error);
        // A retry would be refused because the first attempt changed the version.
        if (mayBeDone && call.method === "PUT" && call.ifMatch !== undefined) throw error;
        await this.pause(error, failures, call.signal, until);
      }
    }
  }

  /**
   * Waits before a retry. Throws the error if there were too many, or if it would be after `until` (of `performance.now`);
   * `failures` counts from 1.
   */
  async pause(
    error: ParleyApiError,
    failures: number,
    signal: AbortSignal | undefined,
    until?: number,
  ): Promise<void> {
    const most = this.#maxRetries ?? (until === undefined ? MAX_RETRIES : Number.POSITIVE_INFINITY);
    const pause = pauseBefore(error, failures);
    if (failures > most || (until !== undefined && performance.now() + pause > until)) throw error;
    this.#onWait?.(pause, error);
    await sleep(pause, signal);
  }

  /**
   * Throws a `ParleyApiError` if the answer is not a success, the signal's reason if the caller aborts, and a TypeError if
   * the request cannot be sent.
   */
  async #attempt(call: Call, headers: Record<string, string>): Promise<WatchedResponse> {
    const credentials = toCredentialHeaders(await this.credentials());
    // Checked here, because it may be aborted while the token is requested.
    call.signal?.throwIfAborted();
    // Throws for a token or key that is not valid in a header: `fetch` would report a lost connection.
    const checked = new Headers({ ...headers, ...credentials });
    const watch = new Watch(call.idleMs ?? this.#timeoutMs, call.signal);
    const outgoing: Outgoing = {
      method: call.method,
      url: this.#url + toPath(call.path) + toQuery(call.query),
      headers: Object.fromEntries(checked),
      body: call.body === undefined ? undefined : JSON.stringify(call.body),
      redirect: call.redirect ?? "manual",
    };
    watch.start();
    try {
      const response = await (call.send ?? this.send)(outgoing, watch);
      if (isRedirect(response)) throw redirected(response.status, response.headers.get("location"));
      if (!response.ok) throw await readError(response);
      return { response, watch };
    } catch (thrown) {
      const error = thrown instanceof ParleyApiError ? thrown : watch.toError(thrown, outgoing.url);
      // Stops sending a body that was refused.
      watch.end(error);
      throw error;
    } finally {
      watch.stop();
    }
  }

  /** Returns what a request authenticates with, as the first frame of a WebSocket has it. */
  async credentials(): Promise<Credentials> {
    const token = this.#token;
    if (typeof token === "object") return { session: token.session, act_as: this.#actAs };
    return { token: typeof token === "string" ? token : await token(), act_as: this.#actAs };
  }

  /** Returns the address of a WebSocket. */
  socketUrl(path: readonly string[]): string {
    return this.#url.replace(/^http/, "ws") + toPath(path);
  }

  /** Sends by `fetch`, with a body of any kind. */
  readonly send = (
    outgoing: Omit<Outgoing, "body"> & { body?: unknown },
    watch: Watch,
  ): Promise<Response> => {
    // Streamed bodies need `duplex`, which the types of some platforms do not have.
    const request = { ...outgoing, body: outgoing.body ?? null, duplex: "half", signal: watch.signal };
    return (this.#fetch ?? fetch)(outgoing.url, request as RequestInit);
  };
}

function toCredentialHeaders({ token, session, act_as }: Credentials): Record<string, string> {
  return {
    ...(session === undefined ? { authorization: `Bearer ${token}` } : { "parley-session": session }),
    ...(act_as === undefined ? {} : { "parley-act-as": act_as }),
  };
}

const BY_NAME = "username:";

/** Returns the value of the header, which is ASCII. */
function toActAs(user: string): string {
  return user.startsWith(BY_NAME) ? BY_NAME + encodeURIComponent(user.slice(BY_NAME.length)) : user;
}

function toHeaders(call: Call): Record<string, string> {
  return {
    ...(call.body === undefined ? {} : { "content-type": "application/json" }),
    ...(call.method === "POST" ? { "idempotency-key": call.idempotencyKey ?? randomKey() } : {}),
    ...(call.ifMatch === undefined ? {} : { "if-match": call.ifMatch }),
    ...call.headers,
  };
}

/**
 * Returns 128 random bits, for example for an `idempotencyKey`. Not for secrets: React Native has no `crypto`. Pages without
 * TLS have it without `randomUUID`.
 */
export function randomKey(): string {
  const bytes = new Uint8Array(16);
  if (globalThis.crypto) crypto.getRandomValues(bytes);
  else for (const at of bytes.keys()) bytes[at] = Math.random() * 256;
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Normalizes the server's URL, so that paths can be appended. */
function toBaseUrl(url: string): string {
  const { protocol, username, password, href } = new URL(url);
  if (!/^https?:$/.test(protocol) || username || password || /[?#]/.test(url))
    throw new TypeError(
      "url must be a URL such as https://chat.example.com, without credentials, query or fragment.",
    );
  return href.replace(/\/+$/, "");
}

/** Builds a path. Throws a TypeError for an id that is empty, `.` or `..`, which would change the path. */
function toPath(segments: readonly string[]): string {
  for (const segment of segments) {
    if (typeof segment !== "string" || /^\.{0,2}$/.test(segment))
      throw new TypeError(`An id must be a string such as con_01…, not ${JSON.stringify(segment)}.`);
  }
  return `/${segments.map(encodeURIComponent).join("/")}`;
}

function toQuery(query: object = {}): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    // The API takes lists separated by commas.
    if (value !== undefined) params.set(name, String(value));
  }
  return params.size === 0 ? "" : `?${params}`;
}

function parse(text: string, { status, headers }: Response): object {
  const body = parseJson(text);
  if (typeof body !== "object" || body === null) throw unexpectedAnswer(status);
  heads.set(body, headers);
  return body;
}

/** Whether the answer is a redirect. Browsers hide everything else about it. */
function isRedirect({ status, type }: Response): boolean {
  return type === "opaqueredirect" || [301, 302, 303, 307, 308].includes(status);
}

function isNotFound(error: unknown): boolean {
  return error instanceof ParleyApiError && error.status === 404 && error.code !== "unexpected_answer";
}
