// Deliveries that somebody has recorded, and sends again or changes: whoever verifies them as Standard Webhooks says, with
// the package that its authors publish, refuses them.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Webhook } from "standardwebhooks";
import { startApp } from "../support/app.ts";
import { hook, LIMITS, verify } from "../support/hooks.ts";
import { add, person } from "../support/people.ts";
import { type Received, receiver } from "../support/receiver.ts";

/** Five minutes, to either side. */
const TOLERANCE_S = 300;

/** A delivery that was sent so many seconds ago, and the secret that it was signed with. */
async function sent(t: TestContext, secondsAgo: number): Promise<{ delivery: Received; secret: string }> {
  const server = await startApp(t, LIMITS, { clock: () => Date.now() - secondsAgo * 1000 });
  const ann = await person(server, "ann");
  const to = await receiver(t);
  const { secret } = await hook(server, ann, to);
  await add(server, ann, "x");
  const [delivery] = await to.wait(1);
  return { delivery: delivery!, secret: String(secret) };
}

test("a delivery holds for five minutes, and not with another id, time, body or secret", async (t) => {
  const { delivery, secret } = await sent(t, TOLERANCE_S - 60);
  verify(secret, delivery);
  const changed = (headers: object, body = delivery.body): Received => ({
    ...delivery,
    headers: { ...delivery.headers, ...headers },
    body,
  });
  const timestamp = Number(delivery.headers["webhook-timestamp"]);
  const signature = String(delivery.headers["webhook-signature"]);
  for (const [what, forged] of Object.entries({
    id: changed({ "webhook-id": "evt_00000000000000000000000000" }),
    "later time": changed({ "webhook-timestamp": String(timestamp + 1) }),
    "time with the id": changed({
      "webhook-id": `${delivery.headers["webhook-id"]}.${timestamp}`,
      "webhook-timestamp": "",
    }),
    body: changed({}, `${delivery.body} `),
    "version of the signature": changed({ "webhook-signature": signature.replace("v1,", "v1a,") }),
    "signature of nothing": changed({ "webhook-signature": "v1," }),
    "no signature": changed({ "webhook-signature": "" }),
    "signature cut short": changed({ "webhook-signature": signature.slice(0, -4) }),
  })) {
    assert.throws(() => verify(secret, forged), /signature|header/i, what);
  }
  const other = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
  assert.throws(() => verify(other, delivery), /No matching signature/);
});

test("a delivery that is older than five minutes, or of a time to come, is refused", async (t) => {
  for (const [secondsAgo, refusal] of [
    [TOLERANCE_S + 60, /too old/],
    [-TOLERANCE_S - 60, /too new/],
  ] as const) {
    const { delivery, secret } = await sent(t, secondsAgo);
    assert.throws(() => verify(secret, delivery), refusal);
  }
});

test("the vector that Standard Webhooks publishes is itself a replay by now: it is right, and refused", () => {
  const webhook = new Webhook("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  const id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
  const body = '{"test": 2432232314}';
  const headers = (timestamp: number) => ({
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  });
  assert.equal(webhook.sign(id, new Date(1614265330_000), body), headers(0)["webhook-signature"]);
  assert.throws(() => webhook.verify(body, headers(1614265330)), /too old/);
  assert.throws(() => webhook.verify(body, headers(Math.floor(Date.now() / 1000))), /No matching signature/);
});

test("a delivery that is sent again has a time of its own, and the id by which it is known", async (t) => {
  const server = await startApp(t, LIMITS);
  const ann = await person(server, "ann");
  let now = 0;
  const to = await receiver(t, (response) => response.writeHead(now++ === 0 ? 500 : 204).end());
  const { secret } = await hook(server, ann, to);
  await add(server, ann, "x");
  const [first, second] = await to.wait(2);
  for (const each of [first!, second!]) verify(secret, each);
  assert.equal(first!.headers["webhook-id"], second!.headers["webhook-id"]);
  assert.ok(Number(second!.headers["webhook-timestamp"]) >= Number(first!.headers["webhook-timestamp"]) + 1);
  assert.notEqual(first!.headers["webhook-signature"], second!.headers["webhook-signature"]);
});
