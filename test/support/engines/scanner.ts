// Scanners for tests: one that speaks INSTREAM and behaves as a test wants, and clamd.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { ScanSettings } from "../../../src/config/file-settings.ts";
import { freePort } from "../command.ts";

/** The EICAR test file, which every scanner detects. Split, so that no scanner detects this source. */
export const EICAR = `X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR-${"STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"}`;

/** Reacts to the part of a file received so far. */
export type Behaviour = (socket: Socket, file: Buffer, isComplete: boolean) => void;

export const honest: Behaviour = (socket, file, isComplete) => {
  if (isComplete) socket.end(file.includes(EICAR) ? "stream: Eicar-Test-Signature FOUND\0" : "stream: OK\0");
};

export interface TestScanner {
  behaviour: Behaviour;
  /** Completely received files. */
  files: Buffer[];
  /** The number of connections without an answer, and its maximum. */
  open: number;
  mostOpen: number;
  port: number;
  /** The value of `PARLEY_SCAN`. */
  url: string;
  /** Stops listening and closes all connections. */
  stop(): Promise<void>;
}

const COMMAND = "zINSTREAM\0";

export async function testScanner(t: TestContext): Promise<TestScanner> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    scanner.open++;
    scanner.mostOpen = Math.max(scanner.mostOpen, scanner.open);
    let bytes = Buffer.alloc(0);
    let file = Buffer.alloc(0);
    let isStarted = false;
    let isOpen = true;
    const close = () => {
      if (isOpen) scanner.open--;
      isOpen = false;
    };
    socket.on("error", () => {}).on("finish", close);
    socket.on("close", () => {
      sockets.delete(socket);
      close();
    });
    socket.on("data", (chunk) => {
      bytes = Buffer.concat([bytes, chunk]);
      if (!isStarted) {
        if (bytes.length < COMMAND.length) return;
        if (bytes.subarray(0, COMMAND.length).toString() !== COMMAND) return void socket.destroy();
        bytes = bytes.subarray(COMMAND.length);
        isStarted = true;
      }
      while (bytes.length >= 4) {
        const length = bytes.readUInt32BE(0);
        if (bytes.length < 4 + length) break;
        file = Buffer.concat([file, bytes.subarray(4, 4 + length)]);
        bytes = bytes.subarray(4 + length);
        if (length === 0) scanner.files.push(file);
        scanner.behaviour(socket, file, length === 0);
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const stop = async () => {
    if (!server.listening) return;
    server.close();
    for (const socket of sockets) socket.destroy();
    await once(server, "close");
  };
  const scanner: TestScanner = {
    ...{ behaviour: honest, files: [], open: 0, mostOpen: 0 },
    ...{ port, url: `clamd://127.0.0.1:${port}`, stop },
  };
  t.after(stop);
  return scanner;
}

/** Returns settings with a scanner on this machine. */
export function scanSettings(port: number, more: Partial<ScanSettings> = {}): ScanSettings {
  return {
    address: { host: "127.0.0.1", port },
    passUnscanned: false,
    maxBytes: 1_000_000,
    timeoutMs: 20_000,
    atOnce: 10,
    ...more,
  };
}

/**
 * Starts clamd with only the EICAR signature, and returns its port. `more` are additional lines of its configuration.
 */
export async function startClamd(t: TestContext, more: readonly string[]): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), "parley-clamd-"));
  chmodSync(folder, 0o755);
  const port = await freePort();
  writeFileSync(
    join(folder, "eicar.ndb"),
    `Eicar-Test-Signature:0:0:${Buffer.from(EICAR).toString("hex")}\n`,
  );
  const lines = [
    `DatabaseDirectory ${folder}`,
    `TemporaryDirectory ${folder}`,
    `TCPSocket ${port}`,
    "TCPAddr 127.0.0.1",
    "Foreground yes",
    ...more,
  ];
  const path = join(folder, "clamd.conf");
  writeFileSync(path, `${lines.join("\n")}\n`);
  const clamd = spawn("/usr/sbin/clamd", ["--config-file", path], { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [clamd.stdout, clamd.stderr]) stream.on("data", (chunk) => (said += String(chunk)));
  t.after(async () => {
    if (clamd.exitCode === null && clamd.kill("SIGKILL")) await once(clamd, "exit");
    await rm(folder, { recursive: true, force: true });
  });
  for (let i = 0; i < 300; i++) {
    if (clamd.exitCode !== null) break;
    const socket = connect(port, "127.0.0.1");
    const isUp = await Promise.race([
      once(socket, "connect").then(() => true),
      once(socket, "error").then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (isUp) return port;
    await sleep(100);
  }
  throw new Error(`clamd does not start: ${said}`);
}
