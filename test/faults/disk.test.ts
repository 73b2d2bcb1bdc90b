import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { type CommandLine, commandLine, type Served } from "../http/command.ts";
import { eventually } from "../http/files-on-disk.ts";

const noStrace = spawnSync("strace", ["-V"]).error ? "strace is not installed" : false;

/** Traces the server with these options; undefined where this process may not. Call what it returns to end it. */
async function trace(server: Served, ...options: string[]): Promise<(() => Promise<void>) | undefined> {
  const tracer = spawn("strace", ["-f", "-qq", ...options, "-p", String(server.process.pid)], {
    stdio: "ignore",
  });
  const gone = once(tracer, "close");
  const status = `/proc/${server.process.pid}/status`;
  if (!(await eventually(async () => /TracerPid:\s+[1-9]/.test(await readFile(status, "utf8")))))
    return undefined;
  return async () => {
    tracer.kill("SIGINT");
    await gone;
  };
}

function send(command: CommandLine, token: string, name: string): Promise<Response> {
  const form = new FormData();
  form.set("file", new File(["12345"], name));
  const headers = { authorization: `Bearer ${token}` };
  return fetch(`${command.url}/v1/attachments`, { method: "POST", headers, body: form });
}

const token = (server: Served) => /export PARLEY_TOKEN=(\S+)/.exec(server.stdout())![1]!;

test("after an error of a sync nothing is acknowledged until a restart, and nothing is left over", {
  skip: noStrace,
}, async (t) => {
  const command = await commandLine(t);
  const server = await command.serve();
  const secret = token(server);
  assert.equal((await send(command, secret, "before")).status, 201);
  const detach = await trace(server, "-e", "trace=fsync", "-e", "inject=fsync:error=EIO:when=1");
  if (!detach) return t.skip("processes may not be traced here");
  const failed = await send(command, secret, "failed");
  assert.ok(failed.status >= 500, String(failed.status));
  await detach();
  for (let i = 0; i < 5; i++) assert.equal((await send(command, secret, `after ${i}`)).status, 503);
  const ready = await fetch(`${command.url}/readyz`);
  assert.equal(ready.status, 503);
  const headers = { authorization: `Bearer ${secret}` };
  assert.equal((await fetch(`${command.url}/v1/attachments`, { headers })).status, 200, "reads go on");
  assert.deepEqual(await readdir(join(command.env.PARLEY_DATA!, "tmp")), []);
  await server.stop();
  const again = await command.serve();
  assert.equal((await fetch(`${command.url}/readyz`)).status, 200);
  assert.equal((await send(command, secret, "again")).status, 201);
  const list = (await (await fetch(`${command.url}/v1/attachments`, { headers })).json()) as {
    data: { filename: string }[];
  };
  assert.deepEqual(
    list.data.map((item) => item.filename),
    ["again", "before"],
  );
  await again.stop();
});
