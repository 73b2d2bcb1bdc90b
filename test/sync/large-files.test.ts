// Files above 8 MiB, which continue after a lost connection.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { test } from "node:test";
import { memoryStore } from "../../packages/parley-sync/src/index.ts";
import { commandLine, tokenOf } from "../support/command.ts";
import { eventually } from "../support/files-on-disk.ts";
import { proxy } from "../support/proxy.ts";
import { openDevice, settled } from "./device.ts";

const MIB = 1024 * 1024;

const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

for (const [killed, text] of [
  ["server", "with a file"],
  ["device", null],
] as const)
  test(`a large file continues after a kill of the ${killed}, and arrives once`, async (t) => {
    const command = await commandLine(t);
    const served = await command.serve();
    const between = await proxy(t, command.url, () => "pass");
    const account = { url: between.url, token: tokenOf(served) };
    const store = memoryStore();
    let device = await openDevice(t, account, { store });
    const { client } = device;
    const ada = await client.contacts.create({ username: "ada", phone_number: "+15550100" });
    const bytes = randomBytes(24 * MIB);
    const files = [new File([bytes], "large.bin")];
    device.sync.send(ada.conversation_id, { ...(text !== null && { text }), files });
    const outbox = device.sync.outbox();
    await new Promise<void>((resolve) => {
      outbox.subscribe(() => {
        const [operation] = outbox.getSnapshot();
        if (operation?.kind === "send" && operation.sent_bytes > MIB) resolve();
      });
    });
    if (killed === "server") {
      served.process.kill("SIGKILL");
      await once(served.process, "close");
      await command.serve();
    } else {
      await device.sync.close();
      device = await openDevice(t, account, { store });
    }
    assert.ok(await settled(device));
    assert.ok(await eventually(async () => (await store.scan("file/")).length === 0));
    assert.deepEqual(device.sync.outbox().getSnapshot(), []);
    const { data } = await client.messages.list({ conversation_id: ada.conversation_id });
    assert.deepEqual(
      data.map((message) => [message.text, message.attachments.map(({ filename }) => filename)]),
      [[text, ["large.bin"]]],
    );
    const download = await client.attachments.download(data[0]!.attachments[0]!);
    assert.equal(digest(new Uint8Array(await (await download.blob()).arrayBuffer())), digest(bytes));
    const requests = (method: string) =>
      between.seen.filter((each) => each.method === method && each.path.startsWith("/v1/uploads"));
    assert.equal(requests("POST").length, 1);
    assert.ok(requests("PATCH").length > 1);
  });
