// Odd answers of receivers, and which events a new webhook gets.
import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { type TestContext, test } from "node:test";
import { startApp } from "../../support/app.ts";
import { asker } from "../../support/asker.ts";
import { deliveries, hook, LIMITS, newest } from "../../support/hooks.ts";
import { add, give, person } from "../../support/people.ts";
import { type Receiver, receiver } from "../../support/receiver.ts";

/** A receiver that answers each connection with these bytes, and leaves it open. */
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

test("a 101 answer is a failed attempt, and delays no stop", async (t) => {
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

test("an answer cut short after its status counts by the status", async (t) => {
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

test("a webhook gets no events from before it was created", async (t) => {
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
