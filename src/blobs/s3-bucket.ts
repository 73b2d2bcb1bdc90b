import { S3 } from "@aws-sdk/client-s3";
import type { S3Settings } from "../config/parse.ts";
import { OperatorError, ParleyError } from "../errors.ts";

const CONNECT_TIMEOUT_MS = 3000;
/** How long the store may take to answer one attempt of a request, in addition to the time for sending bytes. */
export const ANSWER_TIMEOUT_MS = 10_000;
/** The minimum rate at which the store must accept bytes. */
const MIN_BYTES_PER_SECOND = 256 * 1024;
/** How long the store may take to join the parts of an object. */
export const COMPLETE_TIMEOUT_MS = 45_000;
/** The timeout of the readiness check: load balancers wait no longer. */
const READY_TIMEOUT_MS = 2000;
/** The maximum number of attempts of a request, if the store fails or does not answer. */
const ATTEMPTS = 3;
/** All attempts of a request together may take as long as this many timeouts. */
const SILENT_ATTEMPTS = 2;

/** Errors about an object, an upload or a range, not about the store. */
const OF_THE_OBJECT = new Set(["NoSuchKey", "NoSuchUpload", "NotFound", "InvalidRange"]);

/** Options of each request. */
interface Options {
  abortSignal: AbortSignal;
  requestTimeout: number;
}

export type S3Object = { Bucket: string; Key: string };
export type Request<T> = (s3: S3, options: Options) => Promise<T>;

/** A bucket of an S3 store. Every request to it has a time limit. */
export class Bucket {
  readonly s3: S3;
  readonly name: string;
  readonly #settings: S3Settings;
  readonly #running = new Set<AbortController>();
  #ping: Promise<void> | undefined;
  #isClosed = false;

  constructor(settings: S3Settings) {
    this.name = settings.bucket;
    this.#settings = settings;
    this.s3 = new S3({
      region: settings.region,
      forcePathStyle: settings.pathStyle,
      ...(settings.endpoint === null ? {} : { endpoint: settings.endpoint }),
      maxAttempts: ATTEMPTS,
      // Many stores support no optional checksums. The signature of each request covers the SHA-256 of its bytes anyway.
      requestChecksumCalculation: "WHEN_REQUIRED",
      responseChecksumValidation: "WHEN_REQUIRED",
      requestHandler: {
        connectionTimeout: CONNECT_TIMEOUT_MS,
        throwOnRequestTimeout: true,
        // A slow download keeps its connection and must not block other requests.
        httpAgent: { keepAlive: true, maxSockets: Number.POSITIVE_INFINITY },
        httpsAgent: { keepAlive: true, maxSockets: Number.POSITIVE_INFINITY },
      },
    });
  }

  /**
   * Sends a request and retries it if the store fails. Throws `unavailable` if the retries fail, too. Throws errors about the
   * object itself unchanged.
   */
  async ask<T>(request: Request<T>, requestTimeout = ANSWER_TIMEOUT_MS): Promise<T> {
    if (this.#isClosed) throw unavailable(new Error("the server stops"));
    const controller = new AbortController();
    const deadline = setTimeout(() => controller.abort(), SILENT_ATTEMPTS * requestTimeout);
    this.#running.add(controller);
    try {
      return await request(this.s3, { abortSignal: controller.signal, requestTimeout });
    } catch (error) {
      throw OF_THE_OBJECT.has((error as Error).name) ? error : unavailable(error);
    } finally {
      clearTimeout(deadline);
      this.#running.delete(controller);
    }
  }

  /** Throws `unavailable` if the store does not answer or refuses the credentials. */
  checkReady(): Promise<void> {
    // Anybody may call this, so concurrent calls share one check.
    this.#ping ??= this.ask((s3, options) => s3.headBucket({ Bucket: this.name }, options), READY_TIMEOUT_MS)
      .then(
        () => {},
        (error) => {
          throw error instanceof ParleyError ? error : unavailable(error);
        },
      )
      .finally(() => {
        this.#ping = undefined;
      });
    return this.#ping;
  }

  /** Creates the bucket if it is missing and `mayMake` allows it. Throws `OperatorError` if the store cannot be used. */
  async open(mayMake: () => Promise<boolean>): Promise<void> {
    try {
      if (await this.#exists()) return;
      if (!(await mayMake()))
        throw new OperatorError("it is not there, and the database has files. Is it the right one?");
      const { region } = this.#settings;
      const place =
        region === "us-east-1" ? {} : { CreateBucketConfiguration: { LocationConstraint: region } };
      // If this fails, another server may have created the bucket meanwhile.
      const failed = await this.ask((s3, options) =>
        s3.createBucket({ Bucket: this.name, ...place } as Parameters<S3["createBucket"]>[0], options),
      ).then(
        () => undefined,
        (error: unknown) => error,
      );
      if (failed !== undefined && !(await this.#exists())) throw failed;
    } catch (error) {
      this.close();
      throw new OperatorError(
        `PARLEY_STORE: the bucket ${this.name} at ${this.#settings.endpoint ?? "AWS"} cannot be used: ${reasonOf(error)}`,
        { cause: error },
      );
    }
  }

  async #exists(): Promise<boolean> {
    try {
      await this.ask((s3, options) => s3.headBucket({ Bucket: this.name }, options));
      return true;
    } catch (error) {
      if (error instanceof ParleyError) throw error;
      return false;
    }
  }

  /** Aborts all requests and refuses new ones. */
  close(): void {
    this.#isClosed = true;
    for (const controller of this.#running) controller.abort();
    this.s3.destroy();
  }
}

/** Returns how long one attempt to send this many bytes may take. */
export function sendTimeout(bytes: number): number {
  return ANSWER_TIMEOUT_MS + (bytes / MIN_BYTES_PER_SECOND) * 1000;
}

export function unavailable(cause: unknown): ParleyError {
  return new ParleyError("unavailable", "File storage is temporarily unavailable. Try again.", { cause });
}

/** Returns undefined if the object or upload does not exist. */
export async function orMissing<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof ParleyError) throw error;
    return undefined;
  }
}

/** Returns the reason for the operator, and what to do. */
function reasonOf(error: unknown): string {
  if (error instanceof OperatorError) return error.message;
  const cause = error instanceof ParleyError ? error.cause : error;
  const { name, message, $metadata } = cause as Error & { $metadata?: { httpStatusCode?: number } };
  const status = $metadata?.httpStatusCode;
  if (name === "CredentialsProviderError")
    return "there are no credentials. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.";
  if (status === 401 || status === 403)
    return `the store refuses the credentials (${status}). Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, what they may do, and the region.`;
  if (status === 301) return "it is in another region. Set region in PARLEY_STORE.";
  if (status !== undefined) return `the store answers ${status} ${name}: ${message}.`;
  return `the store does not answer (${message || name}). Check endpoint in PARLEY_STORE.`;
}
