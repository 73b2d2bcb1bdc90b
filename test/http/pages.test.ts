import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { startApp, type TestApp, type TestUser } from "../support/app.ts";
import { holds } from "../support/property.ts";

interface Page {
  has_more: boolean;
  data: { id: string }[];
}

async function page(server: TestApp, user: TestUser, query: string): Promise<Page> {
  return (
    await fetch(`${server.url}/v1/contacts?${query}`, { headers: user.headers })
  ).json() as Promise<Page>;
}

let made = 0;
async function add(server: TestApp, user: TestUser): Promise<string> {
  const body = new URLSearchParams({ username: `n${made++}`, phone_number: "555" });
  const response = await fetch(`${server.url}/v1/contacts`, { method: "POST", headers: user.headers, body });
  return ((await response.json()) as { id: string }).id;
}

/** Walks from the newest to the oldest, or the other way, while `meanwhile` runs between the pages. */
async function walk(
  server: TestApp,
  user: TestUser,
  limits: () => number,
  newer: boolean,
  meanwhile: () => Promise<void>,
): Promise<string[]> {
  const seen: string[] = [];
  let cursor = newer ? "ending_before=con_00000000000000000000000000" : "";
  for (let i = 0; i < 200; i++) {
    const { has_more, data } = await page(server, user, `limit=${limits()}&${cursor}`);
    seen.push(...(newer ? data.map((item) => item.id).reverse() : data.map((item) => item.id)));
    if (!has_more) return seen;
    cursor = newer ? `ending_before=${data[0]!.id}` : `starting_after=${data.at(-1)!.id}`;
    await meanwhile();
  }
  throw new Error("The walk has no end.");
}

test("pages never skip or repeat a contact that existed throughout, in both directions, beside writes", async (t) => {
  const server = await startApp(t);
  const plan = fc.record({
    size: fc.integer({ min: 0, max: 30 }),
    limits: fc.infiniteStream(fc.integer({ min: 1, max: 12 })),
    newer: fc.boolean(),
    // Between two pages: how many come, and which of those there are goes.
    changes: fc.infiniteStream(
      fc.record({ add: fc.integer({ min: 0, max: 3 }), remove: fc.option(fc.nat()) }),
    ),
  });
  await holds(
    fc.asyncProperty(plan, async ({ size, limits, newer, changes }) => {
      const user = await server.user();
      const throughout = new Set<string>();
      for (let i = 0; i < size; i++) throughout.add(await add(server, user));
      const seen = await walk(
        server,
        user,
        () => limits.next().value as number,
        newer,
        async () => {
          const change = changes.next().value as { add: number; remove: number | null };
          await Promise.all(Array.from({ length: change.add }, () => add(server, user)));
          const victim =
            change.remove === null ? undefined : [...throughout][change.remove % (throughout.size || 1)];
          if (victim === undefined) return;
          await fetch(`${server.url}/v1/contacts/${victim}`, { method: "DELETE", headers: user.headers });
          throughout.delete(victim);
        },
      );
      assert.equal(new Set(seen).size, seen.length, "an item came twice");
      for (const id of throughout) assert.ok(seen.includes(id), "an item was skipped");
      const order = newer ? [...seen].sort() : [...seen].sort().reverse();
      assert.deepEqual(seen, order);
    }),
    25,
  );
});
