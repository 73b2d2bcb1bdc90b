// Repeats the same requests, many at once, at the default rate limit of a token, which the siege's server turns off.
// Ignores Retry-After. Runs in a thread, so that it does not delay the client that measures.
import { Agent, type IncomingMessage, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";

const REQUESTS_PER_SECOND = 500;

export interface Asked {
  method: "GET" | "POST";
  path: string;
  /** As JSON. */
  body?: string;
}

export interface FloodData {
  url: string;
  authorization: string;
  asked: readonly Asked[];
  atOnce: number;
}

const { url, authorization, asked, atOnce } = workerData as FloodData;
const agent = new Agent({ keepAlive: true, maxSockets: atOnce });
const counts: Record<number, number> = {};
let isOver = false;

function send({ method, path, body }: Asked): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { authorization, "content-type": "application/json" };
    const read = (answer: IncomingMessage) => {
      counts[answer.statusCode!] = (counts[answer.statusCode!] ?? 0) + 1;
      answer.resume().on("end", resolve).on("error", reject);
    };
    const begun = performance.now();
    const sent = request(url + path, { agent, method, headers: body ? headers : { authorization } }, read);
    sent
      .on("error", (cause) => {
        const how = `${sent.reusedSocket ? "a used" : "a new"} connection, after ${Math.round(performance.now() - begun)} ms`;
        reject(new Error(`${cause.message}: ${method} ${path} on ${how}`));
      })
      .end(body);
  });
}

parentPort!.once("message", () => {
  isOver = true;
});
while (!isOver) {
  const pause = sleep((1000 * atOnce) / REQUESTS_PER_SECOND);
  await Promise.all(Array.from({ length: atOnce }, (_, i) => send(asked[i % asked.length]!)));
  await pause;
  parentPort!.postMessage("sent");
}
agent.destroy();
parentPort!.postMessage(counts);
parentPort!.close();
