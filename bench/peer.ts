// What a peer is, and how it is awaited.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Requests } from "./load.ts";

const READY_MS = 60_000;

/** What peers can do of the work, by the names of the rows; null: nothing like it. */
export type PeerWork = Record<
  "retrieve" | "list" | "createRandom" | "upload4k" | "download4k",
  Requests | null
>;

/** One person who writes to another. */
export interface Pair {
  /** Sends a message; resolves when it is acknowledged, if it ever is. */
  send(): Promise<void>;
  /** Called when a message has come to the other. */
  onArrival: () => void;
}

/** A server to which all pairs are connected. */
export interface Messenger extends Pick<Requests, "servers" | "database"> {
  version: string;
  pairs: Pair[];
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Resolves once connections to the port are accepted. */
export async function accepts(port: number): Promise<void> {
  for (const end = performance.now() + READY_MS; performance.now() < end; await sleep(100)) {
    const socket = connect({ port, host: "127.0.0.1" });
    const isOpen = await once(socket, "connect").then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isOpen) return;
  }
  throw new Error(`it did not accept connections within ${READY_MS / 1000} s`);
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

/** Of a package of the registry. */
export function versionOf(modules: string, name: string): string {
  return JSON.parse(readFileSync(join(modules, name, "package.json"), "utf8")).version;
}
