// Of many webhooks whose receivers are slow, dead or odd none holds up the others, or the stop of the server.
import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { type TestContext, test } from "node:test";
import { startApp } from "../../support/app.ts";
import { asker } from "../../support/asker.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { deliveries, hook, LIMITS, newest } from "../../support/hooks.ts";
import { add, give, person } from "../../support/people.ts";
import { type Receiver, receiver } from "../../support/receiver.ts";

/** Answers each connection by these bytes, and leaves it open. */
async function rawReceiver(t: TestContext, answer: string): Promise<Pick<Receiver, "url">> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.write(answer));
    t.after(() => socket.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

test("an answer that turns to another protocol is a failure, holds no place, and no stop", async (t) => {
  const server = await startApp(t, LIMITS);
  const ann = await person(server, "ann");
  const odd = await rawReceiver(
    t,
    "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
  );
  const made = await hook(server, ann, odd as Receiver);
  await asker(server, ann)("POST", `/v1/webhooks/${made.id}/test`);
  await newest(server, ann, made, { attempts: 1, last_status: 101 });
  await server.app.stop();
});

test("a body that is cut short after its status is an answer", async (t) => {
  const server = await startApp(t, LIMITS);
  const ann = await person(server, "ann");
  const cut = await receiver(t, (response) => {
    response.writeHead(200, { "content-length": 100 });
    response.write("x", () => response.destroy());
    return "cut";
  });
  const made = await hook(server, ann, cut);
  await asker(server, ann)("POST", `/v1/webhooks/${made.id}/test`);
  await newest(server, ann, made, { state: "delivered", last_status: 200 });
});

test("receivers that say nothing hold half of the places at most, however many webhooks and users they are of", async (t) => {
  const server = await startApp(t, { ...LIMITS, webhookTimeoutMs: 3000 });
  let open = 0;
  let most = 0;
  const silent = await receiver(t, (response) => {
    most = Math.max(most, ++open);
    response.on("close", () => open--);
    return "never answered";
  });
  const good = await receiver(t);
  const victim = await person(server, "victim");
  await hook(server, victim, good);
  for (let i = 0; i < 5; i++) {
    const user = await person(server, `user ${i}`);
    for (let k = 0; k < 20; k++) await hook(server, user, silent);
    for (let k = 0; k < 2; k++) await add(server, user, `friend ${k}`);
  }
  assert.ok(await eventually(async () => open === 32), `${open} are open`);
  await silent.wait(101);
  await add(server, victim, "bob");
  await good.wait(1);
  await silent.wait(140);
  assert.equal(most, 32);
});

test("a webhook is told nothing of what was before it, also where that was not handed out yet", async (t) => {
  const server = await startApp(t, LIMITS);
  const ann = await person(server, "ann");
  const [early, late] = [await receiver(t), await receiver(t)];
  await hook(server, ann, early);
  const contact = await add(server, ann, "bob");
  const second = await hook(server, ann, late);
  await give(server, ann, contact.conversation_id, "file");
  await early.wait(3);
  await late.wait(2);
  assert.deepEqual(
    (await deliveries(server, ann, second)).map(({ type }) => type),
    ["attachment.created", "message.created"],
  );
});

test("nothing can be asked of a webhook that is disabled", async (t) => {
  const server = await startApp(t, LIMITS);
  const ann = await person(server, "ann");
  const made = await hook(server, ann, await receiver(t));
  const ask = asker(server, ann);
  await ask("POST", `/v1/webhooks/${made.id}/test`);
  const { id } = await newest(server, ann, made, { state: "delivered" });
  await ask("PUT", `/v1/webhooks/${made.id}`, { enabled: false });
  for (const path of ["test", `deliveries/${id}/redeliver`]) {
    const { status, body } = await ask("POST", `/v1/webhooks/${made.id}/${path}`);
    assert.deepEqual([status, body.code], [409, "webhook_disabled"]);
  }
});
