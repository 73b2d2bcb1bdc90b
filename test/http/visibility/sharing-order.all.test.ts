// Many users send at once through nodes whose clocks differ: a polling client gets each message once, in one order.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { startOn, type TestApp, testConfig } from "../../support/app.ts";
import { testDatabase } from "../../support/engines/postgres.ts";
import { add, type Person, person, read, say, send } from "../../support/people.ts";
import { scaled } from "../../support/scale.ts";

const SENDERS = 50;
/** Per sender, one after the other. */
const MESSAGES = scaled(4, 40);
const APART_MS = 60_000;

interface Message {
  id: string;
  text: string;
  created_at: number;
}

interface Nodes {
  nodes: readonly TestApp[];
  /** Moves the clock of a node, also backwards. */
  step(node: number, ms: number): void;
}

const BEGIN = Date.UTC(2026, 0, 1);

async function start(t: TestContext, engine: string): Promise<Nodes> {
  const clocks = engine === "sqlite" ? [BEGIN] : [BEGIN, BEGIN + APART_MS, BEGIN - APART_MS];
  const database = engine === "sqlite" ? null : await testDatabase(t);
  const nodes: TestApp[] = [];
  for (const i of clocks.keys()) {
    const shared = database === null ? {} : { databaseUrl: database, secrets: ["s".repeat(32)] };
    const config = { ...(await testConfig(t)), ...shared };
    nodes.push(await startOn(t, config, { clock: () => clocks[i]! }));
  }
  const step = (node: number, ms: number) => {
    clocks[node]! += ms;
  };
  return { nodes, step };
}

const textOf = (sender: number, nth: number) => `${sender} ${nth}`;

/** Polls for messages newer than the last known one, until it has this many. */
async function poll(node: TestApp, who: Person, conversation: string, wanted: number): Promise<Message[]> {
  const known: Message[] = [];
  let last = "msg_00000000000000000000000000";
  while (known.length < wanted) {
    const path = `/v1/messages?conversation_id=${conversation}&limit=20&ending_before=${last}`;
    const { data } = await read<{ data: Message[] }>(send(node, who, "GET", path), 200);
    known.push(...data.toReversed());
    last = data[0]?.id ?? last;
  }
  return known;
}

for (const engine of ["sqlite", "postgres"]) {
  test(`${engine}: ${SENDERS} senders with clocks a minute apart and stepping back: one order, each message once`, async (t) => {
    const { nodes, step } = await start(t, engine);
    const [ann, bob] = [await person(nodes[0]!, "ann"), await person(nodes[0]!, "bob")];
    const { conversation_id: id } = await add(nodes[0]!, ann, "bob");
    await add(nodes[0]!, bob, "ann");
    const sent = new Map<string, string>();
    const sender = async (number: number) => {
      const [node, who] = [number % nodes.length, number % 2 ? ann : bob];
      let before = "";
      for (let nth = 0; nth < MESSAGES; nth++) {
        step(node, ((number * 7 + nth * 13) % 5) * 400 - 800);
        const text = textOf(number, nth);
        const made = await say(nodes[node]!, who, id, text);
        assert.ok(made > before, `${text} comes before its sender's last message`);
        before = made;
        sent.set(made, text);
      }
    };
    const total = SENDERS * MESSAGES;
    const began = performance.now();
    const polls = nodes.map((node, i) => poll(node, i % 2 ? ann : bob, id, total));
    await Promise.all(Array.from({ length: SENDERS }, (_, number) => sender(number)));
    const seconds = (performance.now() - began) / 1000;
    for (const known of await Promise.all(polls)) {
      assert.deepEqual(
        known.map((message) => [message.id, message.text]),
        [...sent].toSorted(([a], [b]) => (a < b ? -1 : 1)),
      );
      const times = known.map(({ created_at }) => created_at);
      assert.deepEqual(times, times.toSorted(), "created_at never falls");
    }
    t.diagnostic(
      `${total} messages over ${nodes.length} nodes in ${seconds.toFixed(1)} s, ${Math.round(total / seconds)} a second`,
    );
  });
}
