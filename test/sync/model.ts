// Two users with three devices each do anything, over a bad network. After quiet, the invariants of
// packages/parley-sync/src/README.md hold.
import assert from "node:assert/strict";
import fc from "fast-check";
import { type Message, Parley } from "../../packages/parley-client/src/index.ts";
import {
  type Batch,
  memoryStore,
  openSync,
  type Store,
  type Sync,
} from "../../packages/parley-sync/src/index.ts";
import type { TestApp } from "../support/app.ts";
import { add, type Person, person, send } from "../support/people.ts";
import type { Chance } from "../support/scale.ts";
import { BAD, BadNetwork, type NetworkTransport, NONE } from "./bad-network.ts";
import { plain } from "./device.ts";

const DEVICES = 3;
/** A little longer than the server keeps events. */
const EXPIRE_MS = 8 * 24 * 3600 * 1000;
/** Pauses of devices take a fraction of their time. */
const FASTER = 20;

export interface Operation {
  what:
    | "send"
    | "edit"
    | "delete"
    | "hide"
    | "react"
    | "unreact"
    | "read"
    | "older"
    | "kill"
    | "damage"
    | "sleep"
    | "wake"
    | "cut"
    | "expire"
    | "leave"
    | "join"
    | "block"
    | "unblock";
  device: number;
  which: number;
}

const weights: Record<Operation["what"], number> = {
  ...{ send: 30, edit: 5, delete: 4, hide: 2, react: 5, unreact: 2, read: 8, older: 3 },
  ...{ kill: 5, damage: 2, sleep: 4, wake: 6, cut: 3, expire: 1, leave: 1, join: 2, block: 1, unblock: 2 },
};
export const operation: fc.Arbitrary<Operation> = fc.record({
  what: fc.oneof(
    ...Object.entries(weights).map(([what, weight]) => ({
      weight,
      arbitrary: fc.constant(what as Operation["what"]),
    })),
  ),
  device: fc.nat(2 * DEVICES - 1),
  which: fc.nat(),
});

/** Writes late, as a disk does, and not at all once its process is killed. Records the messages that became durable. */
class Disk {
  readonly store: Store;
  isKilled = false;

  constructor(inner: Store, onDurable: (text: string, key: string) => void) {
    this.store = {
      ...inner,
      write: async (batch: Batch) => {
        await new Promise((resolve) => setImmediate(resolve));
        if (this.isKilled) throw new Error("killed");
        for (const [key, value] of batch) {
          const { kind, text } = (value ?? {}) as { kind?: string; text?: string };
          if (key.startsWith("out/") && kind === "send") onDurable(text!, key);
        }
        await inner.write(batch);
      },
      close: async () => {},
    };
  }
}

class ModelDevice {
  readonly kept = memoryStore();
  readonly network: BadNetwork;
  /** The texts that must arrive, in the order of their keys. */
  readonly durable = new Map<string, string>();
  /** The texts that this device has asked to delete, or to replace. */
  readonly undone = new Set<string>();
  readonly who: Person;
  readonly #url: string;
  readonly #chance: Chance;
  #disk!: Disk;
  sync!: Sync;
  #shown: (() => void)[] = [];

  constructor(who: Person, url: string, transport: NetworkTransport, chance: Chance) {
    this.who = who;
    this.#url = url;
    this.#chance = chance;
    this.network = new BadNetwork(transport, chance);
  }

  async open(conversations: readonly string[]): Promise<void> {
    const client = new Parley({
      ...{
        url: this.#url,
        token: this.who.token,
        fetch: this.network.fetch,
        webSocket: this.network.webSocket,
        maxRetries: 0,
        timeoutMs: 10_000,
      },
    });
    this.#disk = new Disk(this.kept, (text, key) => this.durable.set(text, key));
    this.sync = await openSync({
      client,
      store: this.#disk.store,
      platform: {
        now: () => Date.now(),
        random: this.#chance,
        after: (ms, callback) => {
          const timer = setTimeout(callback, ms / FASTER);
          return () => clearTimeout(timer);
        },
      },
    });
    this.#shown = conversations.map((id) => this.sync.conversation(id).subscribe(() => {}));
  }

  wake(): void {
    this.network.return();
    this.sync.wake();
  }

  async kill(): Promise<void> {
    this.#disk.isKilled = true;
    this.network.leave();
    for (const end of this.#shown) end();
    await this.sync.close();
    this.network.return();
  }
}

export class World {
  readonly devices: ModelDevice[] = [];
  readonly counts: Record<string, number> = {};
  conversation = "";
  #contact = "";
  #isLeft = false;
  #hasBlocked = false;
  #next = 0;
  readonly #server: TestApp;
  readonly #clock: { now: number };
  readonly #transport: NetworkTransport;
  readonly #chance: Chance;
  #ann!: Person;
  #bob!: Person;

  constructor(
    server: TestApp,
    clock: { now: number },
    { transport, chance }: { transport: NetworkTransport; chance: Chance },
  ) {
    this.#server = server;
    this.#clock = clock;
    this.#transport = transport;
    this.#chance = chance;
  }

  async begin(number: number): Promise<void> {
    this.#ann = await person(this.#server, `ann${number}`);
    this.#bob = await person(this.#server, `bob${number}`);
    this.conversation = (await add(this.#server, this.#ann, this.#bob.name)).conversation_id;
    this.#contact = (await add(this.#server, this.#bob, this.#ann.name)).id;
    for (const who of [this.#ann, this.#bob])
      for (let i = 0; i < DEVICES; i++)
        this.devices.push(new ModelDevice(who, this.#server.url, this.#transport, this.#chance));
    await Promise.all(this.devices.map(({ network }) => network.start(this.#server.url)));
    await Promise.all(this.devices.map((device) => device.open([this.conversation])));
    for (const { network } of this.devices) network.faults = BAD;
  }

  async run(each: Operation): Promise<void> {
    this.counts[each.what] = (this.counts[each.what] ?? 0) + 1;
    await this.#perform(each);
    // Some operations meet answers of earlier ones, and others do not.
    if (each.which % 3 === 0) await new Promise((resolve) => setTimeout(resolve, each.which % 20));
  }

  async #perform({ what, device: at, which }: Operation): Promise<void> {
    const device = this.devices[at]!;
    const { sync, network, who } = device;
    const id = this.conversation;
    const { messages } = sync.conversation(id).getSnapshot();
    const sent = messages.filter(({ state }) => state === "sent");
    const own = sent.filter(({ sender }) => sender?.id === who.id);
    const pick = <T>(from: readonly T[]): T | undefined => from[which % from.length];
    const [any, mine] = [pick(sent), pick(own)];
    if (what === "send") {
      const files = which % 17 === 0 ? [new File([String(which)], "note.txt")] : [];
      sync.send(id, { text: `${at} ${this.#next++}`, files });
    } else if (what === "edit" && mine) {
      device.undone.add(mine.text!);
      sync.edit(id, mine.id, `edited ${this.#next++}`);
    } else if (what === "delete" && mine) {
      device.undone.add(mine.text!);
      sync.delete(id, mine.id);
    } else if (what === "hide" && any && who === this.#bob) {
      sync.delete(id, any.id, { forMe: true });
    } else if (what === "react" && any) sync.react(id, any.id, String(which % 3));
    else if (what === "unreact" && any) sync.react(id, any.id, String(which % 3), false);
    else if (what === "read" && any) sync.read(id, any.id, { isPrivate: which % 2 === 0 });
    else if (what === "older")
      void sync
        .conversation(id)
        .loadOlder()
        .catch(() => {});
    else if (what === "kill" || what === "damage") await this.#kill(device, what === "damage");
    else if (what === "sleep") network.leave();
    else if (what === "wake") device.wake();
    else if (what === "cut") network.cut();
    else if (what === "expire") this.#clock.now += EXPIRE_MS;
    else await this.#share(what);
  }

  async #kill(device: ModelDevice, isDamaged: boolean): Promise<void> {
    await device.kill();
    if (isDamaged) {
      const entries = (await device.kept.scan("")).filter(([key]) => !/^(out|file)\//.test(key));
      const [key] = entries[Math.floor(this.#chance() * entries.length)] ?? [];
      const junk = this.#chance() < 0.5 ? null : { id: 7, row: "junk" };
      if (key) await device.kept.write(new Map([[key, junk]]));
    }
    await device.open([this.conversation]);
  }

  /** Bob leaves, joins again, blocks and unblocks. */
  async #share(what: Operation["what"]): Promise<void> {
    const [server, bob] = [this.#server, this.#bob];
    if (what === "leave" && !this.#isLeft) {
      await this.#change("DELETE", `/v1/contacts/${this.#contact}`);
      this.#isLeft = true;
      this.#hasBlocked = false;
    } else if (what === "join" && this.#isLeft) {
      this.#contact = (await add(server, bob, this.#ann.name)).id;
      this.#isLeft = false;
    } else if ((what === "block" || what === "unblock") && !this.#isLeft) {
      const method = what === "block" ? "PUT" : "DELETE";
      await this.#change(method, `/v1/contacts/${this.#contact}/block`);
      this.#hasBlocked ||= what === "block";
    }
  }

  /** Repeats what conflicts with other writes of PostgreSQL after all attempts of the server. */
  async #change(method: string, path: string): Promise<void> {
    for (let left = 20; ; left--) {
      const { status } = await send(this.#server, this.#bob, method, path);
      if (status < 300) return;
      assert.ok(status === 503 && left > 0, `${method} ${path} returned ${status}`);
    }
  }

  /** Ends all faults, waits until nothing is pending, and checks the invariants. */
  async check(): Promise<void> {
    for (const { network } of this.devices) network.faults = NONE;
    for (const device of this.devices) device.wake();
    await this.#untilQuiet();
    await Promise.all(this.devices.map((device) => this.#compare(device)));
    await this.#checkSends();
  }

  async #untilQuiet(): Promise<void> {
    const isQuiet = ({ sync }: ModelDevice) =>
      sync.connection().getSnapshot().state === "live" &&
      sync
        .outbox()
        .getSnapshot()
        .every(({ state }) => state === "failed");
    await eventuallyEqual(
      async () =>
        this.devices
          .filter((device) => !isQuiet(device))
          .map(({ sync }) => [sync.outbox().getSnapshot(), sync.connection().getSnapshot()]),
      async () => [],
      "every device sends what it has",
    );
  }

  /** Compares what a device shows with the lists of the server, and what it stores. */
  async #compare(device: ModelDevice): Promise<void> {
    const client = new Parley({ url: this.#server.url, token: device.who.token });
    const view = device.sync.conversation(this.conversation);
    const wanted = async () => {
      const isThere = !(device.who === this.#bob && this.#isLeft);
      const messages = isThere ? await listAll(client, this.conversation) : [];
      const inbox = (await client.conversations.list({ limit: 100 })).data;
      const contacts = (await client.contacts.list({ limit: 100 })).data;
      return this.#view(messages, inbox, contacts);
    };
    const shown = async () => {
      for (let turns = 0; view.getSnapshot().hasOlder && turns < 100; turns++) {
        const before = view.getSnapshot();
        await view.loadOlder().catch(() => {});
        if (!before.conversation && !view.getSnapshot().conversation) break;
      }
      const messages = view.getSnapshot().messages.filter(({ state }) => state === "sent");
      const inbox = device.sync
        .inbox()
        .getSnapshot()
        .items.filter(({ position }) => position !== null);
      return this.#view(messages, inbox, device.sync.contacts().getSnapshot().items);
    };
    await eventuallyEqual(shown, wanted, `${device.who.name} sees what the server has`);
    const ids = new Set(await wantedIds(client, this.conversation, device.who === this.#bob && this.#isLeft));
    for (const [key] of await device.kept.scan("message/"))
      assert.ok(ids.has(key.split("/")[2]!), `${key} is stored, and the user may not see it`);
  }

  #view(messages: readonly object[], inbox: readonly object[], contacts: readonly object[]) {
    // Blocks change which reactions are seen, without an event.
    const hidden = ["contact_read_id", "contact_joined", "last_active_at", "profile_name"];
    if (this.#hasBlocked) hidden.push("reactions");
    const strip = (value: unknown) =>
      JSON.parse(plain(value), (name, each) => (hidden.includes(name) ? undefined : each));
    return { messages: strip(messages), inbox: strip(inbox), contacts: strip(contacts) };
  }

  /** Each text exists once, or was undone, or is a failed one of its device; those of a device are in order. */
  async #checkSends(): Promise<void> {
    const client = new Parley({ url: this.#server.url, token: this.#ann.token });
    const listed = (await listAll(client, this.conversation)).map(({ text }) => text ?? "");
    const undone = new Set(this.devices.flatMap(({ undone }) => [...undone]));
    for (const device of this.devices) {
      const failed = device.sync
        .outbox()
        .getSnapshot()
        .flatMap((each) => (each.kind === "send" ? [each.text!] : []));
      for (const text of device.durable.keys()) {
        const times = listed.filter((each) => each === text).length;
        const wanted = failed.includes(text) ? [0] : undone.has(text) ? [0, 1] : [1];
        assert.ok(wanted.includes(times), `"${text}" exists ${times} times`);
      }
      const inKeys = [...device.durable]
        .sort(([, one], [, other]) => (one < other ? -1 : 1))
        .map(([text]) => text);
      const order = listed.filter((text) => device.durable.has(text));
      assert.deepEqual(
        order,
        inKeys.filter((text) => order.includes(text)),
        "the order of one device",
      );
    }
  }

  async end(): Promise<void> {
    await Promise.all(this.devices.map(({ sync }) => sync.close()));
    for (const { network } of this.devices) network.end();
  }
}

async function listAll(client: Parley, conversation_id: string): Promise<Message[]> {
  return (await Array.fromAsync(client.messages.list({ conversation_id, limit: 100 }))).reverse();
}

async function wantedIds(client: Parley, conversation: string, isLeft: boolean): Promise<string[]> {
  return isLeft ? [] : (await listAll(client, conversation)).map(({ id }) => id);
}

const QUIET_MS = 20_000;

/** Waits until both are equal, which each must become without help. */
async function eventuallyEqual(
  one: () => Promise<unknown>,
  other: () => Promise<unknown>,
  what: string,
): Promise<void> {
  const end = performance.now() + QUIET_MS;
  for (;;) {
    const [found, wanted] = [await one(), await other()];
    if (JSON.stringify(found) === JSON.stringify(wanted)) return;
    if (performance.now() > end) assert.deepEqual(found, wanted, what);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
