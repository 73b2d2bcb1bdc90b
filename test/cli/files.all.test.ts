import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, readdir, readFile, symlink, truncate, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { commandLine, ended, tokenOf } from "../support/command.ts";
import { unzip } from "../support/zip.ts";
import { items, newcomer, onEachServer, person } from "./person.ts";

onEachServer("files are sent to a contact or to oneself and downloaded whole", async (t, server) => {
  const ada = await newcomer(t, server, "ada");
  const bob = await newcomer(t, server, "bob");
  await ada.run("contacts", "add", "bob", "+15550101");
  await bob.run("contacts", "add", "ada", "+15550100");
  const bytes = Buffer.alloc(3_000_000, "parley");
  await writeFile(join(ada.folder, "photo.bin"), bytes);
  await writeFile(join(ada.folder, "empty.txt"), "");
  const sent = await ada.run("upload", "photo.bin", join(ada.folder, "empty.txt"), "--to", "bob");
  assert.equal(sent.code, 0, sent.stderr);
  assert.match(sent.stdout, /^att_\w+ {2}photo\.bin\natt_\w+ {2}empty\.txt\n$/);
  const [note] = items(await ada.run("upload", "empty.txt", "--json"));
  const names = async (who: typeof ada, ...more: string[]) =>
    items(await who.run("attachments", "list", "--json", ...more)).map((each) => each.filename);
  assert.deepEqual(await names(ada), ["empty.txt", "empty.txt", "photo.bin"]);
  assert.deepEqual(await names(ada, "--with", "bob", "--limit", "1"), ["empty.txt"]);
  assert.deepEqual(await names(bob), ["empty.txt", "photo.bin"]);
  const found = async (who: typeof ada, ...what: string[]) =>
    items(await who.run("attachments", "search", "--json", ...what)).map((each) => each.filename);
  assert.deepEqual(await found(ada, "txt EMP"), ["empty.txt", "empty.txt"]);
  assert.deepEqual(await found(ada, "empty", "--with", "bob"), ["empty.txt"]);
  assert.deepEqual(await found(ada, "empty", "--limit", "1"), ["empty.txt"]);
  assert.deepEqual(await found(bob, "hoto"), []);
  assert.match(
    (await bob.run("attachments", "list")).stdout,
    /^ID +FILENAME +SIZE +TYPE +FROM +SENT\n.* empty\.txt +0 B .*\n.* photo\.bin +2\.9 MiB .* ada +\S+Z\n$/,
  );
  const id = sent.stdout.slice(0, 30);
  const saved = await bob.run("download", id);
  assert.equal(saved.stdout, "photo.bin\n");
  assert.ok(bytes.equals(await readFile(join(bob.folder, "photo.bin"))));
  const refused = await bob.run("attachments", "remove", id);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /^parley: .*uploaded/);
  assert.equal((await ada.run("attachments", "rename", id, "a picture.bin")).code, 0);
  assert.deepEqual(await names(bob, "--limit", "9"), ["empty.txt", "a picture.bin"]);
  assert.equal((await ada.run("attachments", "remove", note.id)).code, 0);
  const gone = await ada.run("download", note.id);
  assert.equal(gone.code, 1);
  assert.match(gone.stderr, /parley attachments list\n$/);
  assert.deepEqual((await readdir(ada.folder)).sort(), [".config", "empty.txt", "photo.bin"]);
});

onEachServer("several files, or all of a conversation, are downloaded as one archive", async (t, server) => {
  const ada = await newcomer(t, server, "ada");
  await ada.run("contacts", "add", "bob", "+15550101");
  await writeFile(join(ada.folder, "a.txt"), "first");
  const [one] = items(await ada.run("upload", "a.txt", "--to", "bob", "--json"));
  await writeFile(join(ada.folder, "a.txt"), "second");
  const [two] = items(await ada.run("upload", "a.txt", "--json"));
  const filesIn = async (name: string) =>
    unzip(await readFile(join(ada.folder, name))).map(({ name, bytes }) => [name, String(bytes)]);
  const both = await ada.run("download", one.id, two.id, "-o", "both.zip");
  assert.deepEqual([both.code, both.stdout], [0, "both.zip\n"], both.stderr);
  assert.deepEqual(await filesIn("both.zip"), [
    ["a.txt", "first"],
    ["a (2).txt", "second"],
  ]);
  const [saved] = items(await ada.run("download", "--with", "bob", "--json"));
  assert.match(saved.path, /^files-\d{4}-\d\d-\d\d\.zip$/);
  assert.deepEqual(await filesIn(saved.path), [["a.txt", "first"]]);
  const piped = await ada.run("download", "--with", "bob", "-o", "-");
  assert.deepEqual([piped.code, piped.stdout.startsWith("PK\u0003\u0004")], [0, true], piped.stderr);
  for (const args of [[], [one.id, "--with", "bob"]]) {
    const refused = await ada.run("download", ...args);
    assert.deepEqual([refused.code, refused.stdout], [2, ""]);
    assert.match(refused.stderr, /^parley: Name files by their ids, or a conversation/);
  }
  const none = await ada.run("download", one.id, "att_01h455vb4pex5vsknk084sn02q");
  assert.equal(none.code, 1);
  assert.match(none.stderr, /parley attachments list\n$/);
});

onEachServer(
  "a download overwrites nothing without --force, and only regular files with it",
  async (t, server) => {
    const ada = await newcomer(t, server, "ada");
    await writeFile(join(ada.folder, "a.txt"), "sent");
    const [{ id }] = items(await ada.run("upload", "a.txt", "--json"));
    await writeFile(join(ada.folder, "a.txt"), "mine");
    const text = () => readFile(join(ada.folder, "a.txt"), "utf8");
    const refused = await ada.run("download", id);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /^parley: a\.txt already exists\. .*-o FILE.*--force/);
    assert.equal(await text(), "mine");
    await mkdir(join(ada.folder, "in"));
    const [saved] = items(await ada.run("download", id, "-o", "in", "--json"));
    assert.deepEqual([saved.id, saved.path], [id, "in/a.txt"]);
    assert.equal(await readFile(join(ada.folder, "in/a.txt"), "utf8"), "sent");
    assert.equal((await ada.run("download", id, "-o", "no/such/b.txt")).code, 2);
    await symlink("/dev/null", join(ada.folder, "null"));
    assert.match((await ada.run("download", id, "-o", "null", "--force")).stderr, /not a regular file/);
    assert.equal((await ada.run("download", id, "--force")).code, 0);
    assert.equal(await text(), "sent");
    assert.deepEqual((await readdir(ada.folder)).sort(), [".config", "a.txt", "in", "null"]);
  },
);

onEachServer("if some uploads fail, the rest continue and the failures are listed", async (t, server) => {
  const ada = await newcomer(t, server, "ada");
  await writeFile(join(ada.folder, "first.txt"), "1");
  await writeFile(join(ada.folder, "large.bin"), "");
  await truncate(join(ada.folder, "large.bin"), 101 * 2 ** 20);
  await writeFile(join(ada.folder, "last.txt"), "2");
  // A file whose announced size is 0 although it has bytes.
  const unsteady = "/proc/version";
  const names = ["first.txt", "missing.txt", "large.bin", ".config", unsteady, "last.txt"];
  const some = await ada.run("upload", ...names);
  assert.equal(some.code, 1);
  assert.match(some.stdout, /^att_\w+ {2}first\.txt\natt_\w+ {2}last\.txt\n$/);
  assert.match(some.stderr, /^parley: missing\.txt was not uploaded: No such file\.$/m);
  assert.match(some.stderr, /^parley: large\.bin was not uploaded: .*100 MiB/m);
  assert.match(some.stderr, /^parley: \.config was not uploaded: It is a folder/m);
  assert.match(
    some.stderr,
    /^parley: \/proc\/version was not uploaded: .* more than 0 bytes: it has changed/m,
  );
  assert.match(some.stderr, /^4 of 6 files failed\.$/m);
  const nobody = await ada.run("upload", "first.txt", "--to", "nobody");
  assert.equal(nobody.code, 1);
  // An error that every file would get ends the upload at the first one.
  ada.env.PARLEY_TOKEN = "parley_wrong";
  const none = await ada.run("upload", "first.txt", "last.txt");
  assert.equal(none.code, 1);
  assert.match(
    none.stderr,
    /^Not uploaded: first\.txt, last\.txt\nparley: .*does not accept this token.*\n$/,
  );
});

onEachServer("- is standard input and standard output", async (t, server) => {
  const ada = await newcomer(t, server, "ada");
  const bytes = "parley \u0000\u001b ".repeat(100_000);
  const sent = await ada.feed(bytes, "upload", "-", "--name", "x.tar", "--json");
  assert.equal(sent.code, 0, sent.stderr);
  const [{ id, filename, file_size }] = items(sent);
  assert.deepEqual([filename, file_size], ["x.tar", bytes.length]);
  const back = await ada.run("download", id, "-o", "-");
  assert.deepEqual([back.code, back.stderr, back.stdout === bytes], [0, "", true]);
  const cut = ada.start("download", id, "-o", "-");
  const end = ended(cut);
  cut.stdout!.destroy();
  assert.deepEqual(await end, { code: 0, stdout: "", stderr: "" });
  await writeFile(join(ada.folder, "a.txt"), "x");
  const [renamed] = items(await ada.run("upload", "a.txt", "--name", "b.txt", "--json"));
  assert.equal(renamed.filename, "b.txt");
  for (const [args, message] of [
    [["upload", "-"], /^parley: .*--name FILENAME\.\n$/],
    [["upload", "a.txt", "-", "--name", "x"], /^parley: --name works with one file/],
    [["download", id, "-o", "-", "--json"], /^parley: .*Omit --json/],
  ] as const) {
    const { code, stdout, stderr } = await ada.run(...args);
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, message);
  }
  assert.deepEqual((await readdir(ada.folder)).sort(), [".config", "a.txt"]);
});

test("Ctrl-C ends an upload that waits for its input", async (t) => {
  const operator = await commandLine(t);
  const token = tokenOf(await operator.serve());
  const ada = await person(t, { PARLEY_URL: operator.url, PARLEY_TOKEN: token });
  const child = ada.start("upload", "-", "--name", "x");
  const end = ended(child);
  child.stdin!.write(Buffer.alloc(100_000));
  const coming = () => readdir(join(operator.env.PARLEY_DATA!, "tmp"));
  while ((await coming()).length === 0) await sleep(10);
  child.kill("SIGINT");
  assert.equal((await end).code, 130);
});

/** Forwards to a server until clients have sent this many bytes; the rest is lost. */
async function losingProxy(t: TestContext, url: string, bytes: number) {
  const open = new Set<Socket>();
  let passed = 0;
  let most = bytes;
  const server = createTcpServer((client) => {
    const onward = connect(Number(new URL(url).port), "127.0.0.1");
    for (const socket of [client, onward]) {
      open.add(socket);
      socket.on("error", () => {});
    }
    let isLost = false;
    client.on("data", (chunk) => {
      isLost ||= passed + chunk.length > most;
      if (isLost) return;
      passed += chunk.length;
      onward.write(chunk);
    });
    onward.pipe(client);
    client.on("close", () => onward.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passed: () => passed,
    restore() {
      most = Number.POSITIVE_INFINITY;
    },
  };
}

test("Ctrl-C ends an upload, and warns that it may have succeeded", async (t) => {
  const operator = await commandLine(t);
  const token = tokenOf(await operator.serve());
  const proxy = await losingProxy(t, operator.url, 1_000_000);
  const ada = await person(t, { PARLEY_URL: proxy.url, PARLEY_TOKEN: token });
  await writeFile(join(ada.folder, "half.bin"), Buffer.alloc(7 * 2 ** 20));
  const child = ada.start("upload", "half.bin", "after.txt");
  const end = ended(child);
  const coming = () => readdir(join(operator.env.PARLEY_DATA!, "tmp"));
  while ((await coming()).length === 0) await sleep(10);
  child.kill("SIGINT");
  const { code, stdout, stderr } = await end;
  assert.equal(code, 130);
  assert.equal(stdout, "");
  assert.match(
    stderr,
    /^Not uploaded: after\.txt\nparley: Possibly uploaded: half\.bin\. Check with parley attachments list\.\n$/m,
  );
  while ((await coming()).length > 0) await sleep(10);
  proxy.restore();
  assert.deepEqual(items(await ada.run("attachments", "list", "--json")), []);
});

test("the same command resumes an interrupted upload of a large file", async (t) => {
  const operator = await commandLine(t);
  const token = tokenOf(await operator.serve());
  const proxy = await losingProxy(t, operator.url, 20_000_000);
  const ada = await person(t, { PARLEY_URL: proxy.url, PARLEY_TOKEN: token });
  const bytes = randomBytes(40 * 2 ** 20);
  await writeFile(join(ada.folder, "large.bin"), bytes);
  const child = ada.start("upload", "large.bin");
  const end = ended(child);
  while (proxy.passed() < 19_900_000) await sleep(10);
  child.kill("SIGINT");
  const { code, stderr } = await end;
  assert.equal(code, 130);
  assert.match(stderr, /^parley: Interrupted: large\.bin\. To continue, run the same command\.$/m);
  proxy.restore();
  const again = await ada.run("upload", "large.bin", "--json");
  assert.equal(again.code, 0, again.stderr);
  assert.ok(proxy.passed() < 55_000_000, `${proxy.passed()} bytes were sent: it began anew`);
  const [{ id, file_size }] = items(again);
  assert.equal(file_size, bytes.length);
  assert.equal((await ada.run("download", id, "-o", "copy.bin")).code, 0);
  assert.ok(bytes.equals(await readFile(join(ada.folder, "copy.bin"))));
  assert.deepEqual(await readdir(join(ada.folder, ".config/parley/uploads")), []);
  const headers = { authorization: `Bearer ${token}` };
  const list = await fetch(`${operator.url}/v1/attachments`, { headers });
  assert.equal(((await list.json()) as { data: [] }).data.length, 1, "it was uploaded once");
});

test("the same command restarts an upload that the server no longer has", async (t) => {
  const operator = await commandLine(t);
  const token = tokenOf(await operator.serve());
  const proxy = await losingProxy(t, operator.url, 20_000_000);
  const ada = await person(t, { PARLEY_URL: proxy.url, PARLEY_TOKEN: token });
  await writeFile(join(ada.folder, "large.bin"), randomBytes(25 * 2 ** 20));
  const child = ada.start("upload", "large.bin");
  const end = ended(child);
  while (proxy.passed() < 19_900_000) await sleep(10);
  child.kill("SIGINT");
  assert.equal((await end).code, 130);
  proxy.restore();
  const headers = { authorization: `Bearer ${token}` };
  const list = await fetch(`${operator.url}/v1/uploads`, { headers });
  const [{ id }] = ((await list.json()) as { data: [{ id: string }] }).data;
  await fetch(`${operator.url}/v1/uploads/${id}`, { method: "DELETE", headers });
  const again = await ada.run("upload", "large.bin", "--json");
  assert.equal(again.code, 0, again.stderr);
  assert.equal(items(again)[0].file_size, 25 * 2 ** 20);
});

test("names and errors from a hostile server neither control the terminal nor leave the folder", async (t) => {
  const evil = "\u001b[2J\u009b31m\u202ename";
  const filenames: Record<string, string> = {
    att_1: "../../evil",
    att_2: "/.profile",
    att_3: ".bashrc",
    att_4: `..\\${evil}`,
    // No file system accepts the name, and the error shows it.
    att_5: `${evil}${"x".repeat(300)}`,
  };
  let posts = 0;
  const server = createServer((request, response) => {
    const id = /att_\d/.exec(request.url!)?.[0];
    const contact = {
      id: evil,
      username: evil,
      phone_number: evil,
      display_name: evil,
      last_active_at: null,
    };
    const attachment = {
      id,
      filename: filenames[id ?? ""],
      file_size: 2,
      file_type: "text/plain",
      created_at: 1,
    };
    const page = { has_more: false, data: [contact] };
    response.setHeader("content-type", "application/json");
    if (request.url!.startsWith("/files/")) return response.end("hi");
    if (request.url === "/v1/contacts" && request.method === "POST" && posts++ > 0)
      return response.end(JSON.stringify(contact));
    if (request.method === "POST") {
      response.writeHead(400, { "content-type": "application/problem+json" });
      return response.end(JSON.stringify({ code: "invalid_parameter", status: 400, detail: evil }));
    }
    response.end(JSON.stringify(id ? attachment : page));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ada = await person(t, { PARLEY_URL: url, PARLEY_TOKEN: "parley_x" });
  for (const args of [
    ["contacts", "list"],
    ["contacts", "list", "--json"],
    ["contacts", "add", "x", "123"],
    ["contacts", "add", "x", "123"],
    ["download", "att_5"],
  ]) {
    const { stdout, stderr } = await ada.run(...args);
    assert.match(stdout + stderr, /u\{?0*(?:1b|202e)/, args.join(" "));
    assert.ok(/^[\n -~]*$/.test(stdout + stderr), JSON.stringify(stdout + stderr));
  }
  for (const id of ["att_1", "att_2", "att_3", "att_4"]) {
    const { code, stderr } = await ada.run("download", id);
    assert.equal(code, 0, stderr);
  }
  const saved = (await readdir(ada.folder)).sort();
  assert.equal(saved.length, 4);
  for (const name of saved) assert.ok(/^_[^/\\\p{Cc}]+$/u.test(name), JSON.stringify(name));
});
