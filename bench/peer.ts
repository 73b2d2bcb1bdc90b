// What a peer is, and how it is awaited.
import { type AddressInfo, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Requests } from "./load.ts";

const READY_MS = 60_000;

/** What peers can do of the work, by the names of the rows; null: nothing like it. */
export type PeerWork = Record<
  "retrieve" | "list" | "createRandom" | "upload4k" | "download4k",
  Requests | null
>;

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Resolves once the address answers with success. */
export async function answers(url: string, headers: Record<string, string> = {}): Promise<void> {
  const end = performance.now() + READY_MS;
  let last = "nothing";
  while (performance.now() < end) {
    try {
      const response = await fetch(url, { headers });
      if (response.ok) return;
      last = `${response.status} ${await response.text()}`;
    } catch (error) {
      last = String((error as Error).cause ?? error);
    }
    await sleep(100);
  }
  throw new Error(`it was not ready in ${READY_MS / 1000} s; last was ${last}`);
}
