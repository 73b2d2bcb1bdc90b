import { errorOf, jsonOf, ParleyApiError, redirected, unexpectedAnswer } from "./errors.ts";
import { isLost, isPassing, pauseBefore, sleep } from "./retries.ts";
import { Watch } from "./watch.ts";

/** How to reach a server. */
export interface ParleyOptions {
  /** The server's address, such as `https://chat.example.com`, with the path below which it answers, if any. */
  url: string;
  /** An access token, or what gives one: it is asked before each request. */
  token: string | (() => string | Promise<string>);
  /** Used in place of the global `fetch`. */
  fetch?: typeof fetch | undefined;
  /** How often a request that failed for a passing reason is sent again; 4 without it. */
  maxRetries?: number | undefined;
  /** How long to wait while nothing comes or goes, in milliseconds; 60,000 without it, 0 for ever. */
  timeoutMs?: number | undefined;
  /** Told before each wait for another try: how long it is, in milliseconds, and what failed. */
  onWait?: ((ms: number, error: ParleyApiError) => void) | undefined;
}

export interface CallOptions {
  /** Ends the request: its promise is rejected with the signal's reason. */
  signal?: AbortSignal | undefined;
}

export interface CreateOptions extends CallOptions {
  /** 1 to 255 visible characters of ASCII. The same request with the same key is done once; made at random without it. */
  idempotencyKey?: string | undefined;
}

export interface ChangeOptions extends CallOptions {
  /** The ETag of the version to change (see `etagOf`): 412 `precondition_failed` where the resource has another. */
  ifMatch?: string | undefined;
}

/** One request, with all that it takes to send it again. */
interface Call extends CreateOptions, ChangeOptions {
  method: "GET" | "POST" | "PUT" | "DELETE";
  /** The segments below the server's address, as they are. */
  path: readonly string[];
  query?: object | undefined;
  /** Sent as JSON. */
  body?: unknown;
  headers?: Record<string, string> | undefined;
  /** Sends it in place of `fetch`. */
  send?: Send | undefined;
  /** Whether it can be sent once more; it can without this. */
  canRepeat?: (() => boolean) | undefined;
  /** In place of `timeoutMs`. */
  idleMs?: number | undefined;
  /** Without it a redirection is an error: on its way a POST may become a GET, and a token be dropped. */
  redirect?: "follow" | undefined;
  /** Whether it makes the resource go: then what a second try does not find is what the first has removed. */
  isRemoval?: boolean | undefined;
}

/** A request as it goes out. */
interface Outgoing {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: string | undefined;
  redirect: "follow" | "manual";
}

/** Sends a request and resolves with the answer's head; throws whatever the network throws. */
export type Send = (outgoing: Outgoing, watch: Watch) => Promise<Response>;

/** An answer whose body is still to be read, under the request's watch. */
export interface Answer {
  response: Response;
  watch: Watch;
}

const MAX_RETRIES = 4;
const TIMEOUT_MS = 60_000;

const etags = new WeakMap<object, string>();

/** The ETag that came with a resource, for `ifMatch`; undefined for one that came in a list. */
export function etagOf(resource: object): string | undefined {
  return etags.get(resource);
}

/** Sends requests, and those that failed for a passing reason again where that is safe. */
export class Transport {
  /** The caller's own, where there is one. */
  readonly #fetch: typeof fetch | undefined;
  readonly #url: string;
  readonly #token: ParleyOptions["token"];
  readonly #maxRetries: number;
  readonly #timeoutMs: number;
  readonly #onWait: ParleyOptions["onWait"];

  /** Throws a TypeError where `url` is no address, or there is no token. */
  constructor({
    url,
    token,
    fetch,
    maxRetries = MAX_RETRIES,
    timeoutMs = TIMEOUT_MS,
    onWait,
  }: ParleyOptions) {
    this.#url = baseOf(url);
    if (typeof token !== "function" && (typeof token !== "string" || token === ""))
      throw new TypeError("token must be an access token, or a function that gives one.");
    this.#token = token;
    this.#fetch = fetch;
    this.#maxRetries = maxRetries;
    this.#timeoutMs = timeoutMs;
    this.#onWait = onWait;
  }

  /** Whether requests go by a `fetch` of the caller's. */
  get hasOwnFetch(): boolean {
    return this.#fetch !== undefined;
  }

  /** Sends a request and resolves with the JSON of its answer; with undefined where it has none. */
  call<T>(call: Call): Promise<T> {
    return this.#repeat(call, async (headers) => {
      const { response, watch } = await this.#attempt(call, headers);
      try {
        watch.start();
        const text = await response.text();
        return (response.status === 204 ? undefined : parse(text, response)) as T;
      } catch (error) {
        throw error instanceof ParleyApiError ? error : watch.errorOf(error);
      } finally {
        watch.stop();
      }
    });
  }

  /** Sends a DELETE that makes a resource go. */
  remove(path: readonly string[], options: ChangeOptions): Promise<void> {
    return this.call({ ...options, method: "DELETE", path, isRemoval: true });
  }

  /** Sends a request and resolves once the head of a successful answer is there. */
  open(call: Call): Promise<Answer> {
    return this.#repeat(call, (headers) => this.#attempt(call, headers));
  }

  /** `headers` are the same each time: by its key the server knows a request again whose answer was lost. */
  async #repeat<T>(call: Call, attempt: (headers: Record<string, string>) => Promise<T>): Promise<T> {
    const headers = headersOf(call);
    let mayBeDone = false;
    for (let failures = 1; ; failures++) {
      try {
        return await attempt(headers);
      } catch (error) {
        // What was to go is gone: by the first try, whose answer was lost.
        if (mayBeDone && call.isRemoval && isNotFound(error)) return undefined as T;
        if (!isPassing(error) || failures > this.#maxRetries || call.canRepeat?.() === false) throw error;
        mayBeDone ||= isLost(error);
        // The second try would be refused for the change that the first has made.
        if (mayBeDone && call.method === "PUT" && call.ifMatch !== undefined) throw error;
        const pause = pauseBefore(error, failures);
        this.#onWait?.(pause, error);
        await sleep(pause, call.signal);
      }
    }
  }

  /**
   * Throws a ParleyApiError for whatever is not a success, the signal's reason where the caller ends it, and a TypeError for
   * what cannot be sent.
   */
  async #attempt(call: Call, headers: Record<string, string>): Promise<Answer> {
    const token = typeof this.#token === "string" ? this.#token : await this.#token();
    // Not before: it may be aborted while the token is asked for.
    call.signal?.throwIfAborted();
    // A token or a key that no header can carry is refused here: `fetch` would tell it as it tells a lost connection.
    const checked = new Headers({ ...headers, authorization: `Bearer ${token}` });
    const watch = new Watch(call.idleMs ?? this.#timeoutMs, call.signal);
    const outgoing: Outgoing = {
      method: call.method,
      url: this.#url + pathOf(call.path) + queryOf(call.query),
      headers: Object.fromEntries(checked),
      body: call.body === undefined ? undefined : JSON.stringify(call.body),
      redirect: call.redirect ?? "manual",
    };
    watch.start();
    try {
      const response = await (call.send ?? this.send)(outgoing, watch);
      if (isRedirection(response)) throw redirected(response.status, response.headers.get("location"));
      if (!response.ok) throw await errorOf(response);
      return { response, watch };
    } catch (thrown) {
      const error = thrown instanceof ParleyApiError ? thrown : watch.errorOf(thrown);
      // A body that was refused half-way goes no further.
      watch.end(error);
      throw error;
    } finally {
      watch.stop();
    }
  }

  /** By `fetch`, with a body of any kind. */
  readonly send = (
    outgoing: Omit<Outgoing, "body"> & { body?: unknown },
    watch: Watch,
  ): Promise<Response> => {
    // `duplex` is asked for by streamed bodies alone, and not known to the types of all platforms.
    const request = { ...outgoing, body: outgoing.body ?? null, duplex: "half", signal: watch.signal };
    return (this.#fetch ?? fetch)(outgoing.url, request as RequestInit);
  };
}

function headersOf(call: Call): Record<string, string> {
  return {
    ...(call.body === undefined ? {} : { "content-type": "application/json" }),
    ...(call.method === "POST" ? { "idempotency-key": call.idempotencyKey ?? randomKey() } : {}),
    ...(call.ifMatch === undefined ? {} : { "if-match": call.ifMatch }),
    ...call.headers,
  };
}

/** 128 random bits, such as an `idempotencyKey` is made of. Pages that came without TLS have no `crypto.randomUUID`. */
export function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The server's address as paths are put behind it. */
function baseOf(url: string): string {
  const { protocol, username, password, href } = new URL(url);
  if (!/^https?:$/.test(protocol) || username || password || /[?#]/.test(url))
    throw new TypeError(
      "url must be an address such as https://chat.example.com, without credentials, query and fragment.",
    );
  return href.replace(/\/+$/, "");
}

/** Throws a TypeError for an empty id, or one of dots: the path would be that of something else. */
function pathOf(segments: readonly string[]): string {
  for (const segment of segments) {
    if (typeof segment !== "string" || /^\.{0,2}$/.test(segment))
      throw new TypeError(`An id must be a text such as con_01…, and not ${JSON.stringify(segment)}.`);
  }
  return `/${segments.map(encodeURIComponent).join("/")}`;
}

function queryOf(query: object = {}): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    // Lists go as the API has them, with commas.
    if (value !== undefined) params.set(name, String(value));
  }
  return params.size === 0 ? "" : `?${params}`;
}

function parse(text: string, { status, headers }: Response): object {
  const body = jsonOf(text);
  if (typeof body !== "object" || body === null) throw unexpectedAnswer(status);
  const etag = headers.get("etag");
  if (etag !== null) etags.set(body, etag);
  return body;
}

/** Browsers show nothing of a redirection but that it is one. */
function isRedirection({ status, type }: Response): boolean {
  return type === "opaqueredirect" || [301, 302, 303, 307, 308].includes(status);
}

function isNotFound(error: unknown): boolean {
  return error instanceof ParleyApiError && error.status === 404 && error.code !== "unexpected_answer";
}
