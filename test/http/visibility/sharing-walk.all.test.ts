// Writers move conversations while their inbox is walked.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { startOn, type TestApp, testConfig } from "../../support/app.ts";
import { testDatabase } from "../../support/engines/postgres.ts";
import { add, type Person, person, read, say, send } from "../../support/people.ts";
import { scaled } from "../../support/scale.ts";

const CONVERSATIONS = 40;
/** How many of them move. */
const MOVING = 10;
const WALKS = scaled(2, 100);
const LIMIT = 3;

interface Page {
  has_more: boolean;
  data: { id: string; position: string }[];
}

async function start(t: TestContext, engine: string): Promise<TestApp> {
  const config = await testConfig(t);
  if (engine === "sqlite") return startOn(t, config);
  return startOn(t, { ...config, databaseUrl: await testDatabase(t), secrets: ["s".repeat(32)] });
}

async function walk(server: TestApp, who: Person, cursor: "starting_after" | "ending_before", from = "") {
  const found: Page["data"] = [];
  for (let at = from; ; ) {
    const path = `/v1/conversations?kind=contact&limit=${LIMIT}${at && `&${cursor}=${at}`}`;
    const page = await read<Page>(send(server, who, "GET", path), 200);
    const isUp = cursor === "ending_before";
    found.push(...(isUp ? page.data.toReversed() : page.data));
    if (!page.has_more) return found;
    at = page.data.at(isUp ? 0 : -1)!.position;
  }
}

const idsOf = (found: Page["data"]) => found.map(({ id }) => id);

for (const engine of ["sqlite", "postgres"]) {
  test(`${engine}: a walk through an inbox finds unmoved conversations once and moved ones above`, async (t) => {
    const server = await start(t, engine);
    const ann = await person(server, "ann");
    const others: { who: Person; id: string }[] = [];
    for (let i = 0; i < CONVERSATIONS; i++) {
      const who = await person(server, `other${i}`);
      const { conversation_id: id } = await add(server, ann, who.name);
      await add(server, who, "ann");
      await say(server, who, id, "first");
      others.push({ who, id });
    }
    let moves = 0;
    for (let round = 0; round < WALKS; round++) {
      const moving = others.filter((_, i) => (i * 7 + round) % CONVERSATIONS < MOVING);
      const still = idsOf(await walk(server, ann, "starting_after")).filter((id) =>
        moving.every((other) => other.id !== id),
      );
      const moved = new Set<string>();
      let isWalking = true;
      const move = async () => {
        while (isWalking) {
          const { who, id } = moving[moves++ % MOVING]!;
          await say(server, moves % 3 ? who : ann, id, "again");
          moved.add(id);
        }
      };
      const movers = [move(), move(), move()];
      const found = await walk(server, ann, "starting_after");
      isWalking = false;
      await Promise.all(movers);
      assert.deepEqual(
        idsOf(found).filter((id) => still.includes(id)),
        still,
        "unmoved conversations",
      );
      const above = idsOf(await walk(server, ann, "ending_before", found[0]!.position));
      const missed = [...moved].filter((id) => !above.includes(id) && !idsOf(found).includes(id));
      assert.deepEqual(missed, []);
      assert.equal(new Set(above).size, above.length);
    }
    assert.ok(moves > 0);
    t.diagnostic(`${WALKS} walks, ${moves} moves`);
  });
}
