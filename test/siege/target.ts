import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { answers, isSound } from "../support/sound.ts";
import { inMib, residentBytes } from "../support/usage.ts";

const SERVER = fileURLToPath(new URL("./server.ts", import.meta.url));
const LAUNCHER = fileURLToPath(new URL("../../bin/parley", import.meta.url));
const MIB = 1024 * 1024;
/** Time for closed connections and files to disappear. */
const SETTLE_MS = 30_000;

/** An attack, which returns how often it was tried. */
export type Resource = (target: Target, scaled: (short: number, long: number) => number) => Promise<number>;

/** A server under attack, in a separate process. */
export class Target {
  readonly url: string;
  readonly headers: { authorization: string };
  readonly folder: string;
  readonly #process: ChildProcess;
  readonly #lines: Interface;
  readonly #closed: Promise<unknown>;
  /** Prints a number. */
  readonly say: (text: string) => void;
  #errors = "";

  private constructor(
    child: ChildProcess,
    folder: string,
    lines: Interface,
    closed: Promise<unknown>,
    where: string,
    say: (text: string) => void,
  ) {
    this.say = say;
    const { url, token } = JSON.parse(where) as Record<string, string>;
    this.url = url!;
    this.headers = { authorization: `Bearer ${token}` };
    this.folder = folder;
    this.#process = child;
    this.#lines = lines;
    this.#closed = closed;
    child.stderr!.on("data", (chunk) => {
      this.#errors += chunk;
    });
  }

  static async start(t: TestContext): Promise<Target> {
    const root = await mkdtemp(join(tmpdir(), "parley-siege-"));
    const folder = join(root, "data");
    // The launcher's options, plus garbage collection on request.
    const launcher = await readFile(LAUNCHER, "utf8");
    const [room] = /--max-semi-space-size=\d+/.exec(launcher)!;
    const [, threshold] = /MALLOC_MMAP_THRESHOLD_-(\d+)/.exec(launcher)!;
    const child = spawn(process.execPath, [room, "--expose-gc", SERVER, folder], {
      env: { ...process.env, MALLOC_MMAP_THRESHOLD_: threshold },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const closed = once(child, "close");
    t.after(async () => {
      child.kill("SIGKILL");
      await closed;
      await rm(root, { recursive: true, force: true });
    });
    const ended = closed.then(([code]) => assert.fail(`the server ended with ${code} before it listened`));
    const lines = createInterface(child.stdout!);
    const [where] = await Promise.race([once(lines, "line"), ended]);
    return new Target(child, folder, lines, closed, where, (text) => t.diagnostic(text));
  }

  /** Returns what `joinedServer` of other processes reads. */
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

  /** Resident memory in bytes, including up to about 100 MiB of garbage. */
  get memory(): number {
    return residentBytes(this.pid);
  }

  /**
   * Returns the memory that the server keeps, in bytes. Call it after each attack: memory of connections outside of
   * V8's heap is freed only by a collection, and until then other allocations fragment it.
   */
  async kept(): Promise<number> {
    const collected = Promise.race([once(this.#lines, "line"), this.#closed]);
    this.#process.kill("SIGUSR2");
    await collected;
    assert.equal(this.#process.exitCode ?? this.#process.signalCode, null, this.#errors);
    return this.memory;
  }

  /** Asserts that the server answers, has logged no error, keeps no more memory, and stores nothing unexpected. */
  async isAsBefore(t: TestContext, keptBefore: number): Promise<void> {
    await this.answers();
    const deadline = performance.now() + SETTLE_MS;
    let more = (await this.kept()) - keptBefore;
    while (more > 50 * MIB && performance.now() < deadline) {
      await sleep(1000);
      more = (await this.kept()) - keptBefore;
    }
    t.diagnostic(`RSS ${inMib(keptBefore)} before, ${inMib(keptBefore + more)} after`);
    assert.ok(more <= 50 * MIB, "more than 50 MiB have stayed");
    assert.equal(this.#process.exitCode, null);
    assert.equal(this.#errors, "");
    await isSound(t, this);
  }
}
