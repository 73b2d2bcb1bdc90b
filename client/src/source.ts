import { nodeFiles } from "./node.ts";
import { chunksOf } from "./streams.ts";

/** What can be uploaded: a path is for Node alone. A stream is read once, as it is sent. */
export type UploadSource =
  | Blob
  | Uint8Array
  | string
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>;

/** Bytes to send, whatever they come from. */
export interface Source {
  filename: string;
  type: string | undefined;
  /** Bytes, where it is known. */
  size: number | undefined;
  /** The bytes from the first on. */
  chunks(): AsyncIterable<Uint8Array>;
  /** Whether `chunks` may be asked for (once more). */
  canRepeat(): boolean;
  /** The whole, where it is one. */
  blob?: Blob;
}

/** Throws a TypeError for what is no source, or has no name and is given none; what Node throws for a path that leads nowhere. */
export async function sourceOf(
  given: UploadSource,
  { filename, size }: { filename?: string | undefined; size?: number | undefined },
): Promise<Source> {
  if (typeof given === "string") {
    const { fileAt } = await nodeFiles();
    const file = await fileAt(given);
    return { ...file, filename: filename ?? file.filename, type: undefined, canRepeat: () => true };
  }
  if (!isSource(given))
    throw new TypeError(
      "What is uploaded must be a path, a Blob or File, a Uint8Array, or a stream of bytes.",
    );
  const name = filename ?? (given as Partial<File>).name;
  if (typeof name !== "string")
    throw new TypeError("Say the filename: what is uploaded has no name of its own.");
  const blob = given instanceof Uint8Array ? new Blob([given as Uint8Array<ArrayBuffer>]) : given;
  if (blob instanceof Blob) {
    const { size, type } = blob;
    return { filename: name, type, size, chunks: () => chunksOf(blob.stream()), canRepeat: () => true, blob };
  }
  let isBegun = false;
  async function* chunks() {
    isBegun = true;
    const given = blob instanceof ReadableStream ? chunksOf(blob) : (blob as AsyncIterable<unknown>);
    for await (const chunk of given) {
      if (!(chunk instanceof Uint8Array))
        throw new TypeError(`The chunks of a stream must be bytes (Uint8Array), and not ${typeof chunk}.`);
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
