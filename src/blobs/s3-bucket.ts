import { S3 } from "@aws-sdk/client-s3";
import type { S3Settings } from "../config.ts";
import { OperatorError, ParleyError } from "../errors.ts";

const CONNECT_TIMEOUT_MS = 3000;
/** How long the store may take to answer one attempt of a request; sending bytes comes on top. */
export const ANSWER_TIMEOUT_MS = 10_000;
/** The rate at which the store must take bytes. */
const MIN_BYTES_PER_SECOND = 256 * 1024;
/** How long the store may take to make one object of its parts. */
export const COMPLETE_TIMEOUT_MS = 45_000;
/** An answer to a load balancer must come sooner. */
const READY_TIMEOUT_MS = 2000;
/** How often a request is sent at most, where the store fails or is silent. */
const ATTEMPTS = 3;
/** All attempts of a request share the time of so many that are silent. */
const SILENT_ATTEMPTS = 2;

/** Errors that tell of an object, an upload or a range, not of the store. */
const OF_THE_OBJECT = new Set(["NoSuchKey", "NoSuchUpload", "NotFound", "InvalidRange"]);

/** What goes with a request. */
interface Options {
  abortSignal: AbortSignal;
  requestTimeout: number;
}

export type Request<T> = (s3: S3, options: Options) => Promise<T>;

/** A bucket of an S3 store. Whatever it asks of the store is bounded in time. */
export class Bucket {
  readonly s3: S3;
  readonly name: string;
  readonly #settings: S3Settings;
  readonly #underWay = new Set<AbortController>();
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
      // Many stores know no others. Bytes are sent under the SHA-256 that is signed with each request.
      requestChecksumCalculation: "WHEN_REQUIRED",
      responseChecksumValidation: "WHEN_REQUIRED",
      requestHandler: {
        connectionTimeout: CONNECT_TIMEOUT_MS,
        throwOnRequestTimeout: true,
        // A slow download keeps its connection, and must not keep others waiting.
        httpAgent: { keepAlive: true, maxSockets: Number.POSITIVE_INFINITY },
        httpsAgent: { keepAlive: true, maxSockets: Number.POSITIVE_INFINITY },
      },
    });
  }

  /**
   * Asks the store, again where it fails, and throws `unavailable` where it does not do it; what is wrong with the
   * object itself is thrown as it is.
   */
  async ask<T>(request: Request<T>, requestTimeout = ANSWER_TIMEOUT_MS): Promise<T> {
    if (this.#isClosed) throw unavailable(new Error("the server stops"));
    const controller = new AbortController();
    const deadline = setTimeout(() => controller.abort(), SILENT_ATTEMPTS * requestTimeout);
    this.#underWay.add(controller);
    try {
      return await request(this.s3, { abortSignal: controller.signal, requestTimeout });
    } catch (error) {
      throw OF_THE_OBJECT.has((error as Error).name) ? error : unavailable(error);
    } finally {
      clearTimeout(deadline);
      this.#underWay.delete(controller);
    }
  }

  /** Throws `unavailable` where the store does not answer, or does not let this server in. */
  checkReady(): Promise<void> {
    // Anybody may ask; the store is asked once at a time.
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

  /** Makes the bucket where it is missing, if it may. Throws `OperatorError` where the store cannot be used. */
  async open(mayMake: () => Promise<boolean>): Promise<void> {
    try {
      if (await this.#exists()) return;
      if (!(await mayMake()))
        throw new OperatorError("it is not there, and the database has files. Is it the right one?");
      const { region } = this.#settings;
      const place =
        region === "us-east-1" ? {} : { CreateBucketConfiguration: { LocationConstraint: region } };
      // Where it fails another server may have made it at the same moment.
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

  /** Ends what is under way, and refuses what comes. */
  close(): void {
    this.#isClosed = true;
    for (const controller of this.#underWay) controller.abort();
    this.s3.destroy();
  }
}

/** How long one attempt to send so many bytes may take. */
export function sendTimeout(bytes: number): number {
  return ANSWER_TIMEOUT_MS + (bytes / MIN_BYTES_PER_SECOND) * 1000;
}

export function unavailable(cause: unknown): ParleyError {
  return new ParleyError("unavailable", "The store of the files does not do this right now.", { cause });
}

/** For the operator, with the way to mend it. */
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
