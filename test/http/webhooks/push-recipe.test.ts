// The receiver of docs/push.md, verbatim, between a server and test devices.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { SCOPES } from "../../../src/core/people/tokens.ts";
import { startApp } from "../../support/app.ts";
import { asker } from "../../support/asker.ts";
import { freePort } from "../../support/command.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { deliveries, LIMITS } from "../../support/hooks.ts";
import { pair, say, send } from "../../support/people.ts";
import { settled } from "../../support/push-server.ts";
import { blocksOf, ROOT } from "../doc-pages.ts";

/** A push that a device got: whether it rings, the badge and the conversation. */
interface Sent {
  device: string;
  conversation_id: string;
  badge: number;
  ring: boolean;
}

/** Starts devices that record their pushes, and refuse those to devices in `isDown`. */
async function startDevices(t: TestContext) {
  const sent: Sent[] = [];
  const refused: Sent[] = [];
  const isDown = new Set<string>();
  const server = createServer(async (request, response) => {
    const push = JSON.parse(Buffer.concat(await request.toArray()).toString()) as Sent;
    const isRefused = isDown.has(push.device);
    (isRefused ? refused : sent).push(push);
    return response.writeHead(isRefused ? 503 : 200).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return { sent, refused, isDown, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

/** Returns the module that a reader writes: the devices of each user, and how to reach them. */
const devicesModule = (devices: Record<string, string[]>, url: string) => `
const devices = ${JSON.stringify(devices)};
export const devicesOf = (user) => devices[user] ?? [];
export async function send(device, push) {
  const answer = await fetch(${JSON.stringify(url)}, { method: "POST", body: JSON.stringify({ device, ...push }) });
  if (!answer.ok) throw new Error(device + " answered " + answer.status);
}
`;

async function startReceiver(t: TestContext, modules: Record<string, string>, env: Record<string, string>) {
  const folder = await mkdtemp(join(tmpdir(), "parley-push-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(modules)) await writeFile(join(folder, name), text);
  await mkdir(join(folder, "node_modules"));
  const installed = fileURLToPath(new URL("node_modules/", ROOT));
  await symlink(join(installed, "standardwebhooks"), join(folder, "node_modules/standardwebhooks"));
  const child = spawn(process.execPath, ["push.mjs"], {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: "ignore",
  });
  const exited = once(child, "exit");
  t.after(async () => {
    child.kill();
    await exited;
  });
  const answer = () => fetch(`http://127.0.0.1:${env.PORT}/`, { method: "POST", body: "{}" });
  assert.ok(
    await eventually(async () => (await answer().catch(() => undefined))?.status === 400),
    "an unsigned request is refused",
  );
}

/** Starts the receiver of the page, with two devices of ann and one of bob, who share a conversation. */
async function start(t: TestContext) {
  const server = await startApp(t, LIMITS);
  const admin = await server.user({ scopes: SCOPES });
  const { ann, bob, conversation: conversation_id } = await pair(server);
  const devices = await startDevices(t);
  const port = await freePort();
  const blocks = await blocksOf("docs/push.md");
  const command = blocks.find(({ language }) => language === "sh")!;
  const fields = { ...JSON.parse(/-d '(.*)'/.exec(command.text)![1]!), url: `http://127.0.0.1:${port}/` };
  const { body: hook } = await asker(server, admin)("POST", "/v1/webhooks", fields);
  const modules = {
    "push.mjs": blocks.find(({ text }) => text.startsWith("// push.mjs"))!.text,
    "devices.mjs": devicesModule({ [ann.id]: ["phone", "tablet"], [bob.id]: ["bob"] }, devices.url),
  };
  const secrets = { PARLEY_TOKEN: admin.token, SECRET: String(hook.secret) };
  await startReceiver(t, modules, { PARLEY_URL: server.url, PORT: String(port), ...secrets });
  /** Returns the pushes since the last call, once all are sent. */
  async function look(): Promise<Sent[]> {
    await settled(server);
    return devices.sent.splice(0).sort((a, b) => a.device.localeCompare(b.device));
  }
  const push = (device: string, badge: number, ring: boolean) => ({ device, conversation_id, badge, ring });
  return { server, admin, ann, bob, hook, devices, conversation: conversation_id, look, push };
}

test("the receiver of docs/push.md notifies each device once, sets the badge, and clears what was read elsewhere", async (t) => {
  const { server, admin, ann, bob, hook, conversation, look, push } = await start(t);
  const message = await say(server, bob, conversation, "hello");
  assert.deepEqual(await look(), [push("phone", 1, true), push("tablet", 1, true)], "not the sender");
  const [delivery] = (await deliveries(server, admin, hook)).filter(({ type }) => type === "message.created");
  const again = `/v1/webhooks/${hook.id}/deliveries/${delivery!.id}/redeliver`;
  assert.equal((await asker(server, admin)("POST", again)).status, 200);
  assert.deepEqual(await look(), [], "what comes again rings nobody");
  const path = `/v1/conversations/${conversation}/read`;
  assert.equal((await send(server, ann, "PUT", path, { message_id: message })).status, 204);
  assert.deepEqual(await look(), [push("phone", 0, false), push("tablet", 0, false)]);
  // Devices that show no notification get no push.
  const own = await say(server, ann, conversation, "own");
  assert.deepEqual(await look(), [push("bob", 1, true)]);
  assert.equal((await send(server, ann, "PUT", path, { message_id: own })).status, 204);
  assert.deepEqual(await look(), []);
});

test("the receiver of docs/push.md retries a device that failed, and respects muting", async (t) => {
  const { server, admin, ann, bob, hook, devices, conversation, look, push } = await start(t);
  devices.isDown.add("tablet");
  const message = await say(server, bob, conversation, "are you there?");
  const isFailed = async () =>
    (await deliveries(server, admin, hook)).some(({ last_status }) => last_status === 500);
  assert.ok(await eventually(isFailed));
  devices.isDown.clear();
  assert.deepEqual(await look(), [push("phone", 1, true), push("tablet", 1, true)]);
  devices.isDown.add("tablet");
  const path = `/v1/conversations/${conversation}/read`;
  assert.equal((await send(server, ann, "PUT", path, { message_id: message })).status, 204);
  assert.ok(await eventually(async () => devices.refused.some(({ ring }) => !ring)));
  devices.isDown.clear();
  assert.deepEqual(
    await look(),
    [push("phone", 0, false), push("tablet", 0, false)],
    "also clearing is retried",
  );
  const mute = { muted_until: Math.floor(Date.now() / 1000) + 3600 };
  assert.equal((await send(server, ann, "PUT", `/v1/conversations/${conversation}`, mute)).status, 200);
  await say(server, bob, conversation, "quiet");
  assert.deepEqual(await look(), []);
  await say(server, bob, conversation, "ann!", { mentions: [ann.id] });
  assert.deepEqual(await look(), [push("phone", 0, true), push("tablet", 0, true)]);
});
