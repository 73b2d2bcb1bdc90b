// The list of unfinished uploads, in which a client without state finds the uploads that reserve its quota.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Limits } from "../../../src/config/limits.ts";
import type { TestApp, TestUser } from "../../support/app.ts";
import { asker } from "../../support/asker.ts";
import { ENGINES, startOnEngine } from "../../support/on-engines.ts";
import { create, newUpload, patch } from "../../support/tus.ts";

interface Listed {
  id: string;
  offset: number;
}

const HOUR_MS = 3600 * 1000;
const idOf = (path: string) => path.split("/").at(-1)!;

async function list(server: TestApp, user: TestUser, query = "") {
  const { status, body, headers } = await asker(server, user)("GET", `/v1/uploads${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return { data: body.data as Listed[], hasMore: body.has_more, link: headers.get("link") };
}

async function ids(server: TestApp, user: TestUser, query?: string): Promise<string[]> {
  return (await list(server, user, query)).data.map(({ id }) => id);
}

for (const engine of ENGINES) {
  const start = (t: TestContext, limits: Partial<Limits>, clock = Date.now) =>
    startOnEngine(t, engine, limits, { clock });

  test(`${engine}: GET /v1/uploads lists the caller's unfinished uploads`, async (t) => {
    let now = Date.now();
    const server = await start(t, { uploadHours: 2 }, () => now);
    const [ann, bob] = [await server.user(), await server.user()];
    assert.deepEqual(await list(server, ann), { data: [], hasMore: false, link: null });
    const old = await newUpload(server, ann, 9);
    now += HOUR_MS;
    const [begun, complete, deleted] = [
      await newUpload(server, ann, 4),
      await newUpload(server, ann, 2),
      await newUpload(server, ann, "deferred"),
    ];
    const other = await newUpload(server, bob, 4);
    assert.equal((await patch(server, ann, begun, 0, Buffer.from("ab"))).status, 204);
    assert.deepEqual(await ids(server, ann), [deleted, complete, begun, old].map(idOf));
    assert.equal((await patch(server, ann, complete, 0, Buffer.from("ab"))).status, 204);
    assert.equal((await asker(server, ann)("DELETE", deleted)).status, 204);
    assert.deepEqual(await ids(server, ann), [begun, old].map(idOf));
    assert.deepEqual(await ids(server, bob), [idOf(other)]);
    const { body } = await asker(server, ann)("GET", begun);
    assert.equal(body.offset, 2);
    assert.deepEqual((await list(server, ann, "?limit=1")).data, [body]);
    now += HOUR_MS;
    // Whether or not the sweep has run.
    assert.deepEqual(await ids(server, ann), [idOf(begun)]);
  });

  test(`${engine}: pages of uploads neither skip nor repeat one, in both directions`, async (t) => {
    const server = await start(t, {});
    const [ann, bob] = [await server.user(), await server.user()];
    const made: string[] = [];
    for (let i = 0; i < 7; i++) {
      made.unshift(idOf(await newUpload(server, ann, 1)));
      await newUpload(server, bob, 1);
      // Completed uploads between unfinished ones.
      assert.equal(
        (await patch(server, ann, await newUpload(server, ann, 1), 0, Buffer.from("x"))).status,
        204,
      );
    }
    const first = await list(server, ann, "?limit=3");
    assert.deepEqual([first.data.map(({ id }) => id), first.hasMore], [made.slice(0, 3), true]);
    assert.match(first.link!, new RegExp(`/v1/uploads\\?limit=3&starting_after=${made[2]}>; rel="next"$`));
    assert.deepEqual(await ids(server, ann, `?limit=3&starting_after=${made[2]}`), made.slice(3, 6));
    const last = await list(server, ann, `?limit=3&starting_after=${made[5]}`);
    assert.deepEqual([last.data.map(({ id }) => id), last.hasMore], [made.slice(6), false]);
    assert.deepEqual(await ids(server, ann, `?limit=3&ending_before=${made[6]}`), made.slice(3, 6));
    assert.deepEqual(await ids(server, ann, `?ending_before=${made[1]}`), made.slice(0, 1));
  });

  test(`${engine}: a client finds and deletes the uploads that reserve its quota`, async (t) => {
    const server = await start(t, { userQuotaBytes: 1000, maxUploads: 2 });
    const user = await server.user();
    for (const length of [600, 400]) await newUpload(server, user, length);
    assert.equal((await create(server, user, 1)).status, 409);
    const [newest, oldest] = (await list(server, user)).data;
    const remove = (id: string) => asker(server, user)("DELETE", `/v1/uploads/${id}`);
    assert.equal((await remove(newest!.id)).status, 204);
    assert.equal((await create(server, user, 500)).status, 507);
    assert.equal((await remove(oldest!.id)).status, 204);
    assert.equal((await create(server, user, 1000)).status, 201);
  });
}
