import assert from "node:assert/strict";
import { chmod, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { freePort } from "../support/command.ts";
import { items, onEachServer, person } from "./person.ts";

onEachServer(
  "a login is readable by its owner only, shown by whoami, and deleted by logout",
  async (t, server) => {
    const ada = await person(t);
    const folder = join(ada.folder, ".config/parley");
    await mkdir(folder, { recursive: true, mode: 0o755 });
    await chmod(folder, 0o755);
    const nobody = await ada.run("whoami");
    assert.equal(nobody.code, 2);
    assert.match(nobody.stderr, /^parley: You are not logged in\. Run parley login URL/);
    const { code, stderr, stdout } = await ada.feed(
      `${server.token}\n`,
      "login",
      `${server.url}/`,
      "--token-stdin",
    );
    assert.equal(code, 0, stderr);
    assert.equal(stdout, "");
    assert.equal(stderr, `Logged in at ${server.url} as admin.\n`);
    assert.deepEqual(await readdir(folder), ["login.json"]);
    assert.equal((await stat(folder)).mode & 0o777, 0o700);
    assert.equal((await stat(join(folder, "login.json"))).mode & 0o777, 0o600);
    assert.match((await ada.run("whoami")).stdout, /^Server {4}http:.*\nUsername {2}admin\n/);
    const [me] = items(await ada.run("whoami", "--json"));
    assert.equal(me.url, server.url);
    assert.equal(me.user.username, "admin");
    const link = await ada.run("login", "--browser");
    assert.match(link.stdout, /^http:\S+\/#sign-in=[\w-]+\n$/, link.stderr);
    assert.match(link.stderr, /within 120 seconds/);
    assert.equal((await ada.run("login", server.url, "--browser")).code, 2);
    assert.equal((await ada.run("logout")).code, 0);
    assert.deepEqual(await readdir(folder), []);
    assert.match((await ada.run("logout")).stderr, /^You were not logged in/);
    assert.equal((await ada.run("contacts", "list")).code, 2);
  },
);

onEachServer("a refused token changes nothing and is explained", async (t, server) => {
  const ada = await person(t);
  await ada.feed(server.token, "login", server.url, "--token-stdin");
  const refused = await ada.feed("parley_nonsense", "login", server.url, "--token-stdin");
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /does not accept this token\. Nothing was changed/);
  assert.equal((await ada.run("whoami")).code, 0);
  const [{ id }] = JSON.parse((await server.operator.run("token", "list", "--json")).stdout);
  await server.operator.run("token", "revoke", id);
  const revoked = await ada.run("contacts", "list");
  assert.equal(revoked.code, 1);
  assert.ok(revoked.stderr.includes(`Log in again: parley login ${server.url}\n`), revoked.stderr);
  assert.ok(!revoked.stderr.includes(server.token));
});

onEachServer(
  "the environment overrides the login, whose token goes to no other server",
  async (t, server) => {
    const ada = await person(t, {
      PARLEY_URL: server.url,
      PARLEY_TOKEN: server.token,
      XDG_CONFIG_HOME: "not/absolute",
    });
    assert.equal((await ada.run("whoami")).code, 0);
    const login = await ada.feed(server.token, "login", "--token-stdin");
    assert.match(login.stderr, /^Logged in at .*\nPARLEY_TOKEN is set/);
    const config = join(ada.folder, ".config/parley/login.json");
    const { user_id, ...saved } = JSON.parse(await readFile(config, "utf8"));
    assert.deepEqual(saved, { url: server.url, token: server.token });
    assert.match(user_id, /^usr_\w{26}$/);
    const bob = await person(t, {
      PARLEY_URL: "http://127.0.0.1:9",
      XDG_CONFIG_HOME: join(ada.folder, ".config"),
    });
    const other = await bob.run("whoami");
    assert.equal(other.code, 2);
    assert.match(
      other.stderr,
      /You are logged in at .*, but PARLEY_URL is http:\/\/127\.0\.0\.1:9\. Set PARLEY_TOKEN/,
    );
    const wrong = await person(t, { PARLEY_URL: server.url, PARLEY_TOKEN: "parley_wrong" });
    const refused = await wrong.run("whoami");
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /It comes from PARLEY_TOKEN/);
  },
);

onEachServer("without PARLEY_URL and a login, the local server is used", async (t, { operator, token }) => {
  const { PARLEY_PORT } = operator.env as Record<"PARLEY_PORT", string>;
  const address = `http://127.0.0.1:${PARLEY_PORT}`;
  for (const PARLEY_HOST of ["", "0.0.0.0", "::"]) {
    const ada = await person(t, { PARLEY_HOST, PARLEY_PORT, PARLEY_TOKEN: token });
    const [me] = items(await ada.run("whoami", "--json"));
    assert.equal(me.url, address);
  }
  const ada = await person(t, { PARLEY_PORT });
  assert.equal(
    (await ada.feed(token, "login", "--token-stdin")).stderr,
    `Logged in at ${address} as admin.\n`,
  );
  const elsewhere = await person(t, { PARLEY_HOST: "::1", PARLEY_PORT: "1", PARLEY_TOKEN: token });
  assert.match((await elsewhere.run("whoami")).stderr, /http:\/\/\[::1\]:1\?/);
  const misspelt = await person(t, { PARLEY_PORT: "http", PARLEY_TOKEN: token });
  const { code, stderr } = await misspelt.run("whoami");
  assert.equal(code, 2);
  assert.match(stderr, /^parley: PARLEY_PORT must be/);
});

test("a failed command exits with 2 and advice, without a stack trace", async (t) => {
  const url = `http://127.0.0.1:${await freePort()}`;
  const ada = await person(t, { PARLEY_URL: url, PARLEY_TOKEN: "parley_x" });
  const cases: [string[], RegExp][] = [
    [["login", "chat.example.com", "--token-stdin"], /^parley: The address must be a URL such as https:/],
    [["login", "https://a:b@chat.example.com", "--token-stdin"], /^parley: The address must be a URL/],
    [["login", "http://127.0.0.1:1"], /^parley: There is no terminal .*--token-stdin/],
    [["login", "http://chat.example.com", "--token-stdin"], /^Your token and files are sent unencrypted/],
    [["login", url, `parley_${"x".repeat(43)}`], /^parley: too many arguments .*, parley_…\.\n/],
    [["login", "http://127.0.0.1:1", "--token-stdin"], /^parley: The input is not an access token/],
    [["whoami"], /^parley: The connection .* Is a server running at http:\/\/127\.0\.0\.1:\d+\?/],
    [["contacts", "list", "--limit", "0"], /^parley: .*whole number, 1 or more/],
    [["upload"], /^parley: missing required argument/],
    [["nonsense"], /^parley: unknown command/],
  ];
  for (const [args, message] of cases) {
    const { code, stdout, stderr } = await ada.run(...args);
    assert.equal(code, 2, `${args.join(" ")}: ${stderr}`);
    assert.match(stderr, message);
    assert.ok(!/\n {4}at /.test(stderr), stderr);
    assert.equal(stdout, "");
  }
  const damaged = await person(t);
  await mkdir(join(damaged.folder, ".config/parley"), { recursive: true });
  await writeFile(join(damaged.folder, ".config/parley/login.json"), "{");
  assert.match((await damaged.run("whoami")).stderr, /^parley: .*login\.json is damaged/);
});
