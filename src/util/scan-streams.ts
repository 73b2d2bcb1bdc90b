import type { ClientRequest, IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";

/** A file on its way to a scanner, which gets one chunk after another. */
export interface ScanStream {
  /** Resolves once the bytes may be reused, also if the scanner has failed. */
  write(chunk: Uint8Array): Promise<void>;
  /** Says that the file is complete. */
  end(): void;
  /** The name of what was found; null if the file is clean. Rejects if the scanner did not answer as it must. */
  readonly answer: Promise<string | null>;
}

/** Bytes read of an answer. */
const MAX_ANSWER_BYTES = 1024;
/** What scanners call what they find: text that a log and a terminal can show. */
const NAME = /^[\x20-\x7e]{1,255}$/;

/** Scans by the command INSTREAM of clamd(8). The signal cuts the connection. */
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

/** Undefined if there is no whole answer. Throws if it is none of clamd. */
function readClamd(said: string, isComplete: boolean): string | null | undefined {
  if (!said.includes("\0")) return undefined;
  const name = /^stream: (.+) FOUND\0$/.exec(said)?.[1];
  if (name !== undefined && NAME.test(name)) return name;
  // Before the end it would be the answer to a part of the file.
  if (said === "stream: OK\0" && isComplete) return null;
  throw new Error(`clamd answered ${JSON.stringify(said)}`);
}

/** Scans by a POST of the bytes: 204 is clean, 422 found, with its name as plain text. The signal cuts the connection. */
export function openScanPost(url: string, signal: AbortSignal): ScanStream {
  // Loaded here, because most servers never post.
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

/** Returns a function that writes chunk by chunk, until the sink is closed. */
function writer(sink: Sink, put: (chunk: Uint8Array, done: () => void) => void): ScanStream["write"] {
  let wake = () => {};
  sink.on("close", () => wake());
  return (chunk) => {
    // To clamd an empty chunk is the end of the file.
    if (sink.destroyed || chunk.length === 0) return Promise.resolve();
    return new Promise((resolve) => {
      wake = resolve;
      // After the next turn: if the scanner has answered and closed, its answer is read before a write fails, which would drop it.
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
  // It may fail before anybody waits for it.
  answer.catch(() => {});
  return answer;
}
