// F1 and F8: a large upload over a slow link that is cut repeatedly, to a server that is killed repeatedly.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Upload } from "tus-js-client";
import { Parley, ParleyApiError } from "../../packages/parley-client/src/index.ts";
import { type CommandLine, commandLine, type Served, tokenOf } from "../support/command.ts";
import { type Chance, isLong, scaled, seededChance } from "../support/scale.ts";
import { isSound } from "../support/sound.ts";
import { inMib, noProc, peakBytes, residentBytes } from "../support/usage.ts";

const MIB = 1024 * 1024;
const SIZE = (isLong ? 1024 : 64) * MIB;
const BYTES_PER_SECOND = 20 * MIB;
/** Seconds between two cuts of the link. */
const CUT_SECONDS = isLong ? 3 : 0.5;
/** The server syncs this many bytes at a time, so a kill loses no more. */
const CHUNK = 8 * MIB;
/** The most bytes in transit, which a cut loses. On a busy machine the kernel's buffers fill up. */
const IN_FLIGHT = (isLong ? 1 : 6) * MIB;
const KILLS = scaled(2, 5);
const MAX_GROWTH = 64 * MIB;

/** The user whose token it is. */
interface Account {
  url: string;
  token: string;
}

/** Sends the file until the upload is complete, and returns the id of its attachment. */
type Sender = (account: Account, path: string) => Promise<string>;

/** Resumes after each failure with nothing but the id, as a restarted client does. */
async function byOwnClient(account: Account, path: string): Promise<string> {
  let resume: string | undefined;
  const onStart = (id: string) => {
    resume = id;
  };
  for (;;) {
    const parley = new Parley({ ...account, maxRetries: 0 });
    try {
      return (await parley.uploads.send(path, { resume, onStart })).id;
    } catch (error) {
      if (!(error instanceof ParleyApiError) || error.code !== "connection_failed") throw error;
    }
    await sleep(50);
  }
}

function byTusClient({ url, token }: Account, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const upload = new Upload(createReadStream(path), {
      endpoint: `${url}/v1/uploads`,
      headers: { authorization: `Bearer ${token}` },
      metadata: { filename: "large.bin" },
      // Counted since the last byte that arrived.
      retryDelays: Array(1000).fill(50),
      onSuccess: ({ lastResponse }) => resolve(lastResponse.getHeader("Parley-Attachment")!),
      onError: reject,
    });
    upload.start();
  });
}

/** A link to a server with limited bytes per second. */
class Link {
  /** Bytes that clients have sent, headers included. */
  sent = 0;
  url = "";
  readonly #open = new Set<Socket>();
  #due = 0;

  /** Calls `onSent` when more bytes have been sent. */
  static async open(t: TestContext, target: string, onSent: () => void): Promise<Link> {
    const link = new Link();
    const server = createServer((near) => {
      const far = connect(Number(new URL(target).port), "127.0.0.1");
      link.#keep(near, far);
      far.pipe(near);
      pipeline(near, (bytes: AsyncIterable<Buffer>) => link.#slow(bytes, onSent), far).catch(() => {});
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => {
      server.close();
      link.cut();
    });
    link.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return link;
  }

  cut(): void {
    for (const socket of this.#open) socket.destroy();
  }

  /** Closes each socket when the other one closes. */
  #keep(...sockets: [Socket, Socket]): void {
    for (const socket of sockets) {
      this.#open.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        for (const each of sockets) {
          each.destroy();
          this.#open.delete(each);
        }
      });
    }
  }

  async *#slow(bytes: AsyncIterable<Buffer>, onSent: () => void): AsyncGenerator<Buffer> {
    for await (const chunk of bytes) {
      this.sent += chunk.length;
      this.#due = Math.max(this.#due, performance.now()) + (chunk.length / BYTES_PER_SECOND) * 1000;
      yield chunk;
      onSent();
      await sleep(Math.max(1, this.#due - performance.now()));
    }
  }
}

interface Interruption {
  /** After this many sent bytes. */
  after: number;
  what: "cut" | "kill";
}

/** Returns one interruption at a random moment in each of `count` equal parts of the file. */
function spread(what: Interruption["what"], count: number, chance: Chance): Interruption[] {
  return Array.from({ length: count }, (_, i) => ({ what, after: ((i + chance()) / count) * SIZE }));
}

function planOf(chance: Chance): Interruption[] {
  const cuts = spread("cut", Math.floor(SIZE / (CUT_SECONDS * BYTES_PER_SECOND)), chance);
  const kills = spread("kill", KILLS, chance);
  return [...cuts, ...kills].sort((a, b) => a.after - b.after);
}

/** Writes a file of random bytes and returns their digest. */
async function makeFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(function* () {
    for (let left = SIZE; left > 0; left -= MIB) {
      const bytes = randomBytes(MIB);
      hash.update(bytes);
      yield bytes;
    }
  }, createWriteStream(path));
  return hash.digest("hex");
}

async function digestOf(url: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of (await fetch(url)).body!) hash.update(chunk);
  return hash.digest("hex");
}

/** Starts a server that can be killed and restarted, and measures the memory growth of each process. */
async function startMortal(command: CommandLine) {
  let server = await command.serve();
  const token = tokenOf(server);
  const idle = (served: Served) => residentBytes(served.process.pid!);
  let memory = idle(server);
  let growth = 0;
  const note = () => {
    growth = Math.max(growth, peakBytes(server.process.pid!) - memory);
  };
  return {
    token,
    growth() {
      note();
      return growth;
    },
    async restart() {
      note();
      server.process.kill("SIGKILL");
      await once(server.process, "close");
      server = await command.serve();
      memory = idle(server);
    },
  };
}

const SENDERS: Record<string, Sender> = { "parley-client": byOwnClient, "tus-js-client": byTusClient };

for (const [name, send] of Object.entries(SENDERS)) {
  test(`${name}: ${SIZE / MIB} MiB are uploaded whole, a kill loses at most one chunk, and a cut only bytes in transit`, {
    skip: noProc,
  }, async (t) => {
    const plan = planOf(seededChance(t));
    const interruptions = plan.length;
    const command = await commandLine(t, { PARLEY_MAX_FILE_SIZE: "0" });
    let restarted = Promise.resolve();
    const link = await Link.open(t, command.url, () => {
      while (plan.length > 0 && plan[0]!.after <= link.sent) {
        if (plan.shift()!.what === "kill") restarted = restarted.then(server.restart);
        else link.cut();
      }
    });
    // Answers name the link's address, too.
    command.env.PARLEY_PUBLIC_URL = link.url;
    const server = await startMortal(command);
    const folder = await mkdtemp(join(tmpdir(), "parley-resumable-"));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const path = join(folder, "large.bin");
    const digest = await makeFile(path);
    const id = await send({ url: link.url, token: server.token }, path);
    await restarted;
    const { sent } = link;
    const growth = server.growth();
    t.diagnostic(
      `${interruptions} interruptions; ${inMib(sent - SIZE)} were sent twice; RSS grew by ${inMib(growth)} at most`,
    );
    assert.equal(plan.length, 0, "each interruption came");
    const most = SIZE + KILLS * CHUNK + interruptions * IN_FLIGHT;
    assert.ok(sent <= most, `${inMib(sent)} were sent`);
    assert.ok(growth <= MAX_GROWTH, `RSS grew by ${inMib(growth)}`);
    const parley = new Parley({ url: command.url, token: server.token });
    assert.deepEqual((await parley.uploads.list()).data, []);
    const { data } = await parley.attachments.list();
    assert.deepEqual(
      data.map((each) => [each.id, each.file_size]),
      [[id, SIZE]],
      "it is there once",
    );
    assert.equal(await digestOf(data[0]!.file_url), digest);
    const headers = { authorization: `Bearer ${server.token}` };
    await isSound(t, { url: command.url, headers, folder: command.env.PARLEY_DATA! });
  });
}
