// Messages from one person to another who is connected, stored and delivered, on Parley and on others.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { costed, medianRate, toRate } from "./cost.ts";
import { Client, type Loaded, loaded, spin } from "./load.ts";
import { liveQuery } from "./parse-server.ts";
import type { Messenger, Pair } from "./peer.ts";
import { addPeople, introduce, openStream, type Person } from "./people.ts";
import { CONNECTIONS, JSON_TYPE, post, twentyWords } from "./requests.ts";
import { type Delivered, shownCpu } from "./results.ts";
import { startParley } from "./servers.ts";
import { settle } from "./subject.ts";
import { ejabberd, prosody } from "./xmpp-servers.ts";

/** A server with its data in `folder`; `modules` are those of the registry. */
type StartMessenger = (stack: AsyncDisposableStack, folder: string, modules: string) => Promise<Messenger>;

const WARM_UP_MS = 2500;
/** How long the last messages of a round are waited for. */
const LATE_MS = 30_000;
const MESSENGERS: Record<string, StartMessenger> = {
  Parley: parleyMessenger,
  "parse-server, LiveQuery": (stack, folder, modules) => liveQuery(stack, modules, folder),
  "ejabberd, Mnesia": (stack, folder) => ejabberd(stack, folder, "mnesia"),
  "ejabberd, SQLite": (stack, folder) => ejabberd(stack, folder, "sql"),
  Prosody: prosody,
};

/** One that cannot be started is left out, with the reason printed. */
export async function measureMessengers(
  stack: AsyncDisposableStack,
  folder: string,
  modules: string,
  results: Record<string, Delivered>,
  rounds: number,
  ms: number,
): Promise<void> {
  for (const [i, [name, start]] of Object.entries(MESSENGERS).entries()) {
    const data = join(folder, `messenger-${i}`);
    mkdirSync(data);
    try {
      await using own = stack.use(new AsyncDisposableStack());
      const messenger = await start(own, data, modules);
      await talk(messenger.pairs, WARM_UP_MS);
      const rates = [];
      for (let round = 0; round < rounds; round++) {
        settle(folder);
        rates.push(toRate(await costed(messenger, () => talk(messenger.pairs, ms))));
      }
      const rate = medianRate(rates);
      const { version } = messenger;
      results[name] = { version, date: new Date().toISOString().slice(0, 10), rate };
      const times = `p50 ${rate.p50.toFixed(2)} p99 ${rate.p99.toFixed(2)} ms`;
      console.log(
        `${name} ${version}: ${rate.rate.toFixed(0)} messages/s, ${times}, ${shownCpu(rate)} us of CPU`,
      );
    } catch (error) {
      console.error(`${name} is left out: ${(error as Error).message}`);
    }
  }
}

/** All pairs talk at once; each message is sent when the one before has come, and was acknowledged if it ever is. */
async function talk(pairs: readonly Pair[], ms: number): Promise<Loaded> {
  const latencies: number[] = [];
  const begun = performance.now();
  let last = begun;
  async function drive(pair: Pair): Promise<void> {
    for (let sent = begun; sent < begun + ms; sent = last) {
      const { promise, resolve } = Promise.withResolvers<void>();
      pair.onArrival = () => {
        last = performance.now();
        latencies.push(last - sent);
        resolve();
      };
      await Promise.all([pair.send(), promise]);
      last = performance.now();
    }
  }
  const late = sleep(ms + LATE_MS, undefined, { ref: false }).then(() => {
    throw new Error("messages did not come");
  });
  const stopSpinning = spin(() => {});
  try {
    await Promise.race([Promise.all(pairs.map(drive)), late]);
  } finally {
    stopSpinning();
  }
  return loaded(latencies, last - begun);
}

async function parleyMessenger(stack: AsyncDisposableStack, folder: string): Promise<Messenger> {
  const parley = await startParley(stack, folder, { settings: { PARLEY_MESSAGE_LIMIT: "0" } });
  const names = Array.from({ length: 2 * CONNECTIONS }, (_, i) => `person ${i}`);
  const people = await addPeople(parley.port, folder, names);
  const pairs: Pair[] = [];
  for (let i = 0; i < people.length; i += 2) {
    const [sender, reader] = people.slice(i, i + 2) as [Person, Person];
    const conversation_id = await introduce(parley.port, sender, reader);
    const headers = { ...sender.headers, ...JSON_TYPE };
    const client = new Client(parley, 201);
    stack.defer(() => client.close());
    const message = () => Buffer.from(JSON.stringify({ conversation_id, text: twentyWords() }));
    const pair: Pair = {
      send: () => client.send(post("/v1/messages", headers, message())),
      onArrival: () => {},
    };
    const arrivals = { add: () => pair.onArrival() };
    const stream = await openStream(parley.port, reader.headers, "message.created", arrivals);
    stack.defer(() => void stream.destroy());
    pairs.push(pair);
  }
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  return { version, servers: [parley], pairs };
}
