// The yardstick: bare node:http that gives back the very bytes that it was given, and does what the least server must for a
// file: a body is streamed to a new file, a download is stat and stream.
import { createReadStream, createWriteStream, rmSync } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";

/** What to answer to a path. */
export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
  /** Write the request's body to a new file before the answer; "drop": read it and keep nothing. */
  upload?: "file" | "drop";
  /** Send this file, not the body. */
  file?: string;
  /** Keep the answer open, as a stream of events. */
  stream?: true;
  /** Also send this event to the streams of a path. */
  event?: { path: string; text: string };
}

/** Sets the answer to a path, or deletes the files that were uploaded. */
export type Order = { path: string; answer: Answer } | "clear";

const folder = process.argv[2]!;
const answers = new Map<string, Answer>();
const UNKNOWN: Answer = { status: 404, headers: {}, body: "" };
const streams = new Map<string, Set<ServerResponse>>();
let files: string[] = [];

async function sendFile(response: ServerResponse, answer: Answer, file: string): Promise<void> {
  const { size } = await stat(file);
  response.writeHead(answer.status, { ...answer.headers, "content-length": size });
  createReadStream(file).pipe(response);
}

function stream(path: string, response: ServerResponse, answer: Answer): void {
  response.writeHead(answer.status, answer.headers).write(answer.body);
  const others = streams.get(path) ?? new Set();
  streams.set(path, others.add(response));
  response.on("close", () => others.delete(response));
}

const server = createServer((request, response) => {
  const answer = answers.get(request.url!) ?? UNKNOWN;
  const send = () => {
    response.writeHead(answer.status, answer.headers).end(answer.body);
    if (!answer.event) return;
    for (const listener of streams.get(answer.event.path) ?? []) listener.write(answer.event.text);
  };
  if (answer.stream) stream(request.url!, response, answer);
  else if (answer.file !== undefined) sendFile(response, answer, answer.file);
  else if (request.method === "GET") send();
  else if (answer.upload === "file") {
    const file = join(folder, `upload-${files.length}`);
    files.push(file);
    pipeline(request, createWriteStream(file)).then(send);
  } else if (answer.upload === "drop") request.on("data", () => {}).on("end", send);
  else {
    const chunks: Buffer[] = [];
    request.on("data", (chunk) => chunks.push(chunk)).on("end", send);
  }
});
server.listen(0, "127.0.0.1", () => process.send!((server.address() as AddressInfo).port));

process.on("message", (order: Order) => {
  if (order === "clear") {
    for (const file of files) rmSync(file);
    files = [];
  } else answers.set(order.path, order.answer);
  process.send!("done");
});
// Ended by itself it keeps the compiled code for its next start, as Parley does.
process.on("SIGTERM", () => process.exit());
process.on("disconnect", () => process.exit());
