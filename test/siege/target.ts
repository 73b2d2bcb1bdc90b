import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { residentBytes } from "../faults/usage.ts";
import { answers, isSound } from "./sound.ts";

const SERVER = fileURLToPath(new URL("./server.ts", import.meta.url));
const MIB = 1024 * 1024;
/** How often a garbage collection may be waited for, as none can be asked for. */
const SETTLE_MS = 30_000;

/** A server under attack, in a process of its own. */
export class Target {
  readonly url: string;
  readonly headers: { authorization: string };
  readonly folder: string;
  readonly #process: ChildProcess;
  #errors = "";

  private constructor(child: ChildProcess, folder: string, { url, token }: { url: string; token: string }) {
    this.url = url;
    this.headers = { authorization: `Bearer ${token}` };
    this.folder = folder;
    this.#process = child;
    child.stderr!.on("data", (chunk) => {
      this.#errors += chunk;
    });
  }

  static async start(t: TestContext): Promise<Target> {
    const root = await mkdtemp(join(tmpdir(), "parley-siege-"));
    const folder = join(root, "data");
    const flags = ["--max-semi-space-size=16"];
    const child = spawn(process.execPath, [...flags, SERVER, folder], { stdio: ["ignore", "pipe", "pipe"] });
    const closed = once(child, "close");
    t.after(async () => {
      child.kill("SIGKILL");
      await closed;
      await rm(root, { recursive: true, force: true });
    });
    const ended = closed.then(([code]) => assert.fail(`the server ended with ${code} before it listened`));
    const [line] = await Promise.race([once(createInterface(child.stdout!), "line"), ended]);
    return new Target(child, folder, JSON.parse(line));
  }

  /** Where other processes find it, as `joinedServer` reads it. */
  get joined(): string {
    const token = this.headers.authorization.slice("Bearer ".length);
    return JSON.stringify({ url: this.url, folder: this.folder, token });
  }

  get pid(): number {
    return this.#process.pid!;
  }

  answers(): Promise<void> {
    return answers(this);
  }

  get memory(): number {
    return residentBytes(this.pid);
  }

  /** The server answers, has logged no error, its memory is as it was, and it has nothing that it should not have. */
  async isAsBefore(t: TestContext, memoryBefore: number): Promise<void> {
    await this.answers();
    const isBack = () => this.memory <= memoryBefore + 50 * MIB;
    const deadline = performance.now() + SETTLE_MS;
    // Garbage is collected where there is something to do.
    while (!isBack() && performance.now() < deadline) await this.answers();
    const inMib = (bytes: number) => (bytes / MIB).toFixed(0);
    t.diagnostic(`RSS ${inMib(memoryBefore)} MiB before, ${inMib(this.memory)} MiB after`);
    assert.ok(isBack(), "more than 50 MiB have stayed");
    assert.equal(this.#process.exitCode, null);
    assert.equal(this.#errors, "");
    await isSound(t, this);
  }
}
