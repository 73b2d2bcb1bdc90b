import type { ClientRequest, IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";

/** A file being sent to a scanner, chunk by chunk. */
export interface ScanStream {
  /** Resolves once the bytes may be reused, also if the scanner has failed. */
  write(chunk: Uint8Array): Promise<void>;
  /** Signals that the file is complete. */
  end(): void;
  /** The name of the finding; null if the file is clean. Rejects if the scanner gives no valid answer. */
  readonly answer: Promise<string | null>;
}

/** Bytes of an answer to read. */
const MAX_ANSWER_BYTES = 1024;
/** A valid name of a finding: text that is safe in a log and on a terminal. */
const NAME = /^[\x20-\x7e]{1,255}$/;

/** Scans with the INSTREAM command of clamd(8). The signal closes the connection. */
export function openClamd(host: string, port: number, signal: AbortSignal): ScanStream {
  const socket = connect({ host, port, signal });
  let isComplete = false;
  let said = "";
  socket.on("data", (bytes: Buffer) => {
    said += bytes.toString("latin1");
    if (said.includes("\0") || said.length > MAX_ANSWER_BYTES) socket.destroy();
  });
  socket.write("zINSTREAM\0");
  return {
    write: writer(socket, (chunk, done) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(chunk.length);
      socket.cork();
      socket.write(length);
      socket.write(chunk, done);
      socket.uncork();
    }),
    end() {
      isComplete = true;
      socket.write(Buffer.alloc(4));
    },
    answer: answerOf(socket, signal, () => readClamd(said, isComplete)),
  };
}

/** Returns undefined if the answer is incomplete. Throws if clamd would not send it. */
function readClamd(said: string, isComplete: boolean): string | null | undefined {
  if (!said.includes("\0")) return undefined;
  const name = /^stream: (.+) FOUND\0$/.exec(said)?.[1];
  if (name !== undefined && NAME.test(name)) return name;
  // An earlier answer would be about a part of the file.
  if (said === "stream: OK\0" && isComplete) return null;
  throw new Error(`clamd answered ${JSON.stringify(said)}`);
}

/**
 * Scans by posting the bytes: 204 means clean, 422 means found, with the name as plain text. The signal closes the
 * connection.
 */
export function openScanPost(url: string, signal: AbortSignal): ScanStream {
  // Loaded on demand: most servers never post.
  const http = process.getBuiltinModule(url.startsWith("https:") ? "node:https" : "node:http");
  const headers = { "content-type": "application/octet-stream" };
  const request = http.request(url, { method: "POST", headers, agent: false, signal });
  let status: number | undefined;
  let wasComplete = false;
  let said = "";
  request.on("response", (response: IncomingMessage) => {
    status = response.statusCode!;
    wasComplete = request.writableEnded;
    response.on("data", (bytes: Buffer) => {
      said += bytes.toString("latin1");
      if (said.length > MAX_ANSWER_BYTES) request.destroy();
    });
    response.on("error", () => {}).on("end", () => request.destroy());
  });
  request.on("upgrade", (_, socket: Socket) => socket.destroy());
  return {
    write: writer(request, (chunk, done) => request.write(chunk, done)),
    end: () => void request.end(),
    answer: answerOf(request, signal, () => {
      if (status === undefined) return undefined;
      if (status === 422) return NAME.test(said.trim()) ? said.trim() : "a virus without a name";
      if (status === 204 && wasComplete) return null;
      throw new Error(`the scanner answered ${status}`);
    }),
  };
}

type Sink = Socket | ClientRequest;

/** Returns a function that writes chunks until the sink is closed. */
function writer(sink: Sink, put: (chunk: Uint8Array, done: () => void) => void): ScanStream["write"] {
  let wake = () => {};
  sink.on("close", () => wake());
  return (chunk) => {
    // To clamd, an empty chunk ends the file.
    if (sink.destroyed || chunk.length === 0) return Promise.resolve();
    return new Promise((resolve) => {
      wake = resolve;
      // Wait one turn: if the scanner has answered and closed, its answer must be read before the next write fails
      // and drops it.
      put(chunk, () => setImmediate(resolve));
    });
  };
}

/** Reads the answer when the sink is closed. `read` returns undefined if there is none. */
function answerOf(
  sink: Sink,
  signal: AbortSignal,
  read: () => string | null | undefined,
): Promise<string | null> {
  const answer = new Promise<string | null>((resolve, reject) => {
    let failure: Error | undefined;
    sink.on("error", (error) => {
      failure = error;
    });
    sink.on("close", () => {
      try {
        const found = read();
        if (found !== undefined) resolve(found);
        else
          reject(
            signal.aborted ? signal.reason : (failure ?? new Error("the scanner closed the connection")),
          );
      } catch (error) {
        reject(error);
      }
    });
  });
  // It may reject before anything awaits it.
  answer.catch(() => {});
  return answer;
}
