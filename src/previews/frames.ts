// The protocol between the server and the process that makes previews: a header of fixed size, then the bytes that it
// announces.

/** The maximum ratio of height to width: the preview of a long strip is narrower than requested. */
export const MAX_RATIO = 4;

export interface Request {
  /** Of the preview, in pixels. */
  width: number;
  /** Of the picture that follows, in bytes. */
  size: number;
  /** A picture with more pixels has no preview. */
  maxPixels: number;
}

export interface AnswerHead {
  /** Bytes of the preview that follows; 0: no preview can be made. */
  webpSize: number;
  /** Bytes of the placeholder after it. */
  placeholderSize: number;
  /** Memory of the process (RSS), in MiB. */
  memory: number;
  /** CPU time of the process since its start, in seconds. */
  cpuSeconds: number;
}

export const REQUEST_BYTES = 12;
export const ANSWER_BYTES = 16;

export function formatRequest({ width, size, maxPixels }: Request): Uint8Array {
  return new Uint8Array(Uint32Array.of(width, size, maxPixels).buffer);
}

export function parseRequest(bytes: Uint8Array): Request {
  const [width, size, maxPixels] = new Uint32Array(bytes.buffer) as unknown as [number, number, number];
  return { width, size, maxPixels };
}

export function formatAnswer({ webpSize, placeholderSize, memory, cpuSeconds }: AnswerHead): Uint8Array {
  return new Uint8Array(Uint32Array.of(webpSize, placeholderSize, memory, cpuSeconds).buffer);
}

export function parseAnswer(bytes: Uint8Array): AnswerHead {
  const [webpSize, placeholderSize, memory, cpuSeconds] = new Uint32Array(bytes.buffer) as unknown as [
    ...[number, number, number, number],
  ];
  return { webpSize, placeholderSize, memory, cpuSeconds };
}

/** Reads a stream in pieces of exact sizes. */
export class ExactReader {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array(0);

  constructor(stream: AsyncIterable<Uint8Array>) {
    this.#chunks = stream[Symbol.asyncIterator]();
  }

  /** Returns the next bytes in a new buffer; undefined if the stream ends first. */
  async read(size: number): Promise<Uint8Array | undefined> {
    const bytes = new Uint8Array(size);
    for (let at = 0; at < size; ) {
      if (this.#rest.length === 0) {
        const next = await this.#chunks.next();
        if (next.done) return undefined;
        this.#rest = next.value;
      }
      const part = this.#rest.subarray(0, size - at);
      bytes.set(part, at);
      at += part.length;
      this.#rest = this.#rest.subarray(part.length);
    }
    return bytes;
  }
}
