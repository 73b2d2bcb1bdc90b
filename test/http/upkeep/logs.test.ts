import assert from "node:assert/strict";
import { test } from "node:test";
import { commandLine, tokenOf } from "../../support/command.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { receiver } from "../../support/receiver.ts";

test("debug logs are JSON with request ids and paths, without queries and tokens", async (t) => {
  const command = await commandLine(t, { PARLEY_LOG_LEVEL: "debug" });
  const server = await command.serve();
  const headers = { authorization: `Bearer ${tokenOf(server)}` };
  const paths = [
    "/v1/contacts?q=canary",
    "/v1/contacts?canary=1",
    "/nowhere?canary=2",
    "/v1/contacts/%zz?canary=3",
  ];
  const ids: string[] = [];
  for (const path of paths)
    ids.push((await fetch(command.url + path, { headers })).headers.get("request-id")!);
  await server.stop();
  const lines = server.stderr().trim().split("\n");
  const logged = lines.map((line) => (JSON.parse(line) as { request_id?: string }).request_id);
  for (const id of ids) assert.ok(logged.includes(id), `${id} is not in the log`);
  for (const secret of ["canary", "?", tokenOf(server)]) assert.ok(!server.stderr().includes(secret), secret);
});

test("the debug log names the user as whom a request is sent, and the holder of the token", async (t) => {
  const command = await commandLine(t, { PARLEY_LOG_LEVEL: "debug" });
  const server = await command.serve();
  const ask = async (path: string, headers: object, body?: URLSearchParams) =>
    (await (
      await fetch(command.url + path, {
        method: body ? "POST" : "GET",
        headers: { ...headers },
        body: body ?? null,
      })
    ).json()) as Record<string, string>;
  const first = { authorization: `Bearer ${tokenOf(server)}` };
  const shop = await ask("/v1/me", first);
  const ann = await ask("/v1/users", first, new URLSearchParams({ username: "ann" }));
  const wanted = new URLSearchParams({ user_id: shop.id!, scopes: "act_as" });
  const { token } = await ask("/v1/tokens", first, wanted);
  const me = await ask("/v1/me", { authorization: `Bearer ${token}`, "parley-act-as": ann.id! });
  assert.equal(me.id, ann.id);
  await server.stop();
  const lines = server.stderr().trim().split("\n");
  const entry = lines.map((line) => JSON.parse(line)).find(({ acted_by_id }) => acted_by_id);
  assert.deepEqual([entry.user_id, entry.acted_by_id], [ann.id, shop.id]);
});

test("the log warns once why a webhook does not answer, without the path of its URL, and again after it answered", async (t) => {
  const command = await commandLine(t, { PARLEY_LOG_LEVEL: "debug", PARLEY_WEBHOOKS_ALLOW_PRIVATE: "true" });
  const server = await command.serve();
  let isUp = false;
  const { url } = await receiver(t, (response) => (isUp ? undefined : response.destroy()));
  const ask = async (path: string, fields?: Record<string, string>) => {
    const headers = { authorization: `Bearer ${tokenOf(server)}` };
    const body = fields ? new URLSearchParams(fields) : null;
    const response = await fetch(command.url + path, { method: fields ? "POST" : "GET", headers, body });
    assert.ok(response.ok);
    return (await response.json()) as { id: string; data: { id: string; attempts: number }[] };
  };
  const { id } = await ask("/v1/webhooks", { url: `${url}canary-path` });
  /** Sends a test event. Returns the id of its delivery once that has had some attempts. */
  const send = async (attempts: number) => {
    const delivery = await ask(`/v1/webhooks/${id}/test`, {});
    const has = async () => {
      const { data } = await ask(`/v1/webhooks/${id}/deliveries`);
      return data.find((each) => each.id === delivery.id)!.attempts >= attempts;
    };
    assert.ok(await eventually(has));
    return delivery.id;
  };
  /** Returns the entries about a webhook of one level. */
  const logged = (wanted: number) => {
    const lines = server.stderr().trim().split("\n");
    return lines.map((line) => JSON.parse(line)).filter(({ webhook, level }) => webhook && level === wanted);
  };
  const [WARN, DEBUG] = [40, 20];
  const first = await send(2);
  await send(1);
  const [entry, ...others] = logged(WARN);
  assert.deepEqual([entry.webhook, entry.delivery, entry.error.code], [id, first, "ECONNRESET"]);
  assert.equal(others.length, 0);
  assert.ok(logged(DEBUG).length >= 2);
  isUp = true;
  await send(1);
  isUp = false;
  await send(1);
  assert.ok(await eventually(async () => logged(WARN).length === 2));
  await server.stop();
  assert.ok(!server.stderr().includes("canary"));
});

test("an unknown PARLEY_ variable is warned of, PARLEY_TOKEN is not", async (t) => {
  const command = await commandLine(t, { PARLEY_PROT: "9", PARLEY_TOKEN: "x" });
  const server = await command.serve();
  assert.match(server.stderr(), /^PARLEY_PROT is not a setting of Parley/m);
  assert.ok(!server.stderr().includes("PARLEY_TOKEN"));
});
