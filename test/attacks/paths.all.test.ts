// Path traversal (CWE-22) by forms, paths and queries. strace shows which paths the server opens.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { commandLine, tokenOf } from "../support/command.ts";
import { noStrace, trace } from "../support/strace.ts";
import { attack } from "./attack.ts";

const CANARY = "canary";
const UP = [
  "../",
  "..\\",
  "/",
  "\\",
  "....//",
  "..;/",
  "%2e%2e%2f",
  "%2e%2e/",
  "..%2f",
  "..%5c",
  "%252e%252e%252f",
  "..%c0%af",

  "..%00/",
  "./",
  "~/",
  "file:///",
  "C:\\",
  "\\\\host\\",
  "/proc/self/fd/",
  "../blobs/00/",
  "../parley.db/",
  "../tmp/",
];
/** Names that point outside the folder, with each form of "..", once and repeated. */
const NAMES = UP.flatMap((up) => [up, up.repeat(8)]).map((up) => `${up}${CANARY}`);
const EXTENSIONS = ["", ".txt", ".js", ".svg", ".html"];
/** The system calls that take a path. */
const FILES = "trace=%file";
const LARGE = 100_000;

test("path traversal opens no file outside the data folder, and none named by a client", {
  skip: noStrace,
}, async (t) => {
  const command = await commandLine(t);
  const server = await command.serve();
  const user = { headers: { authorization: `Bearer ${tokenOf(server)}` } };
  const target = { url: command.url };
  const upload = (filename: string, size: number) =>
    attack(target, user, {
      path: "/v1/attachments",
      headers: [["content-type", "multipart/form-data; boundary=b"]],
      body: Buffer.from(
        `--b\r\nContent-Disposition: form-data; name="file"; filename="${filename}"\r\n\r\n${"x".repeat(size)}\r\n--b--\r\n`,
      ),
    });
  const get = (path: string, as?: typeof user) => attack(target, as, { method: "GET", path, headers: [] });
  // Requests each kind once, so that lazily loaded modules are not in the trace.
  for (const size of [1, LARGE]) {
    const { file_url } = JSON.parse((await upload("a.unknown", size)).body) as { file_url: string };
    assert.equal((await get(file_url.slice(command.url.length))).status, 200);
  }
  for (const path of ["/docs/", "/openapi.json", "/docs/site.css"]) await get(path);
  const log = join(command.env.HOME!, "trace");
  const detach = await trace(t, server, "-e", FILES, "-s", "4096", "-o", log);
  let requests = 0;
  for (const [i, name] of NAMES.entries()) {
    const filename = name + EXTENSIONS[i % EXTENSIONS.length];
    const made = await upload(filename, i % 2 === 0 ? 1 : LARGE);
    assert.ok(made.status === 201 || made.status === 400, `${filename}: ${made.body}`);
    if (made.status === 201) {
      const { id, file_url, filename: kept } = JSON.parse(made.body) as Record<string, string>;
      assert.ok(!/[/\\]/.test(kept!), kept);
      assert.equal((await get(file_url!.slice(command.url.length))).status, 200);
      const renamed = await attack(target, user, {
        method: "PUT",
        path: `/v1/attachments/${id}`,
        headers: [["content-type", "application/json"]],
        body: JSON.stringify({ filename }),
      });
      assert.equal(renamed.status, /[/\\]/.test(filename) ? 400 : 200, renamed.body);
    }
    const inPath = encodeURI(name).replaceAll("%25", "%");
    for (const path of [
      ...[`/${inPath}`, `/files/${inPath}/x`, `/files/x/${inPath}`, `/assets/${inPath}`, `/docs/${inPath}`],
      ...[
        `/docs/errors/${inPath}`,
        `/v1/attachments/${inPath}`,
        `/v1/contacts?q=${encodeURIComponent(name)}`,
      ],
    ]) {
      const { status } = await get(path, user);
      assert.ok(status === 200 ? path.startsWith("/v1/contacts?") : status < 500, `${path}: ${status}`);
      requests++;
    }
  }
  await detach();
  const calls = (await readFile(log, "utf8")).split("\n").filter((line) => line.includes('"'));
  const data = command.env.PARLEY_DATA!;
  const outside = calls.filter(
    (line) => ![...line.matchAll(/"([^"]+)"/g)].every(([, path]) => isWithin(data, path!)),
  );
  assert.deepEqual(outside, []);
  assert.ok(!calls.some((line) => line.includes(CANARY)));
  assert.ok(calls.length > NAMES.length, "the uploads themselves are seen");
  t.diagnostic(`${requests} paths and ${NAMES.length} file names; ${calls.length} system calls with a path`);
});

function isWithin(folder: string, path: string): boolean {
  return path === folder || (path.startsWith(`${folder}/`) && !path.includes("/../"));
}
