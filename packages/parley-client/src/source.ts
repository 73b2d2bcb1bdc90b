import { nodeFiles } from "./node.ts";
import { readChunks } from "./streams.ts";

/** What can be uploaded. A path works only in Node. A stream is read once, while it is sent. */
export type UploadSource =
  | Blob
  | Uint8Array
  | string
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>;

/** The bytes to send, from any source. */
export interface Source {
  filename: string;
  type: string | undefined;
  /** In bytes, if known. */
  size: number | undefined;
  /** Returns the bytes, from the first or from an offset. Throws a TypeError for an offset of a stream, which is read once. */
  chunks(from?: number): AsyncIterable<Uint8Array>;
  /** Whether `chunks` can be called (again). */
  canRepeat(): boolean;
  /** The whole source, if it is a Blob. */
  blob?: Blob;
}

/** Prepares a source. Throws a TypeError if it is invalid or has no name, and the error of Node if a path cannot be read. */
export async function toSource(
  given: UploadSource,
  { filename, size }: { filename?: string | undefined; size?: number | undefined },
): Promise<Source> {
  if (typeof given === "string") {
    const { fileAt } = await nodeFiles();
    const file = await fileAt(given);
    return { ...file, filename: filename ?? file.filename, type: undefined, canRepeat: () => true };
  }
  if (!isSource(given))
    throw new TypeError("Pass a path, a Blob or File, a Uint8Array, or a stream of bytes.");
  const name = filename ?? (given as Partial<File>).name;
  if (typeof name !== "string") throw new TypeError("The source has no name: pass a File, or a filename.");
  const blob = given instanceof Uint8Array ? new Blob([given as Uint8Array<ArrayBuffer>]) : given;
  if (blob instanceof Blob) {
    const { size, type } = blob;
    return {
      filename: name,
      type,
      size,
      chunks: (from = 0) => readChunks(blob.slice(from).stream()),
      canRepeat: () => true,
      blob,
    };
  }
  let isBegun = false;
  async function* chunks(from = 0) {
    if (from > 0) throw new TypeError("A stream cannot be read again from an offset.");
    isBegun = true;
    const given = blob instanceof ReadableStream ? readChunks(blob) : (blob as AsyncIterable<unknown>);
    for await (const chunk of given) {
      if (!(chunk instanceof Uint8Array))
        throw new TypeError(`The chunks of a stream must be Uint8Array, not ${typeof chunk}.`);
      yield chunk;
    }
  }
  return { filename: name, type: undefined, size, chunks, canRepeat: () => !isBegun };
}

function isSource(given: unknown): boolean {
  return (
    given instanceof Blob ||
    given instanceof Uint8Array ||
    given instanceof ReadableStream ||
    typeof (given as Partial<AsyncIterable<unknown>> | null)?.[Symbol.asyncIterator] === "function"
  );
}
