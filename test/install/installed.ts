// What every way to install Parley must do: `parley dev` with all pages, and the commands of an operator.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { Parley } from "../../packages/parley-client/src/index.ts";
import { commandLine, freePort, tokenOf } from "../support/command.ts";
import { ROOT } from "../support/packed.ts";

/** Pages by address, and a text that each of them has. */
const PAGES: Record<string, RegExp> = {
  "/": /<script type="module"/,
  "/docs/": /<h1/,
  "/docs/operate.html": /PARLEY_PREVIEWS/,
  "/embed.js": /parley-inbox/,
  "/openapi.json": /"openapi":"3\.1/,
};

/** Starts `parley dev` with this command, and asserts that a visitor sees a message, and every page. */
export async function checkDev(
  t: TestContext,
  [program, ...args]: string[],
  env: NodeJS.ProcessEnv = {},
  cwd = ROOT,
): Promise<void> {
  const url = `http://127.0.0.1:${await freePort()}`;
  const child = spawn(program!, [...args, "dev"], {
    cwd,
    env: { ...process.env, ...env, PARLEY_PORT: new URL(url).port },
    stdio: ["ignore", "pipe", "inherit"],
    // Ctrl-C on a terminal sends the signal to all processes of the command.
    detached: true,
  });
  const closed = once(child, "close");
  t.after(() => endGroup(child, closed));
  let output = "";
  for await (const chunk of child.stdout!.iterator({ destroyOnReturn: false })) {
    output += chunk;
    if (output.includes("Ask as Ada")) break;
  }
  const hello = await (await fetch(`${url}/hello`)).text();
  const [, token = ""] = /<parley-chat token="([^"]+)"/.exec(hello) ?? [];
  const ada = new Parley({ url, token });
  const { data } = await ada.conversations.list();
  const texts = data.map(({ last_message }) => last_message?.text);
  assert.ok(texts.includes("And I bring cake."), output);
  for (const [path, content] of Object.entries(PAGES)) {
    const answer = await fetch(url + path);
    assert.equal(answer.status, 200, path);
    assert.match(await answer.text(), content, path);
  }
  await endGroup(child, closed);
  await assert.rejects(fetch(url));
}

async function endGroup(child: ChildProcess, closed: Promise<unknown>): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, "SIGINT");
  await closed;
}

/** Asserts that a server keeps its data, and that commands for operators and people work, by this program. */
export async function checkCommands(t: TestContext, program: string, version: string): Promise<void> {
  const command = await commandLine(t, {}, program);
  assert.deepEqual(await command.run("--version"), { code: 0, stdout: `${version}\n`, stderr: "" });
  const server = await command.serve();
  Object.assign(command.env, { PARLEY_URL: command.url, PARLEY_TOKEN: tokenOf(server) });
  const succeed = async (...args: string[]) => {
    const { code, stdout, stderr } = await command.run(...args);
    assert.equal(code, 0, `parley ${args.join(" ")}: ${stderr}`);
    return stdout;
  };
  await succeed("user", "add", "ada");
  await succeed("upload", join(ROOT, "LICENSE"), "--name", "許諾.txt");
  assert.match(await succeed("attachments", "list"), /許諾/);
  await succeed("search", "hello");
  const backup = join(command.env.HOME!, "backup");
  await succeed("backup", backup);
  assert.equal(await server.stop(), 0);
  assert.ok(existsSync(join(backup, "parley.db")), "backup");
  command.env.PARLEY_DATA = join(command.env.HOME!, "restored");
  await succeed("restore", backup);
  await succeed("check");
}
