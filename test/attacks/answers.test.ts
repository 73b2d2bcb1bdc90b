// Security headers of every kind of answer: nosniff (ASVS V3.4.4), and no-referrer for signed URLs (V3.4.5).
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { SCOPES } from "../../src/core/people/tokens.ts";
import { startOn, type TestApp, testConfig, upload } from "../support/app.ts";
import { openSocket, readAll } from "../support/raw-socket.ts";

const FORM = "content-type: application/x-www-form-urlencoded";
const ORIGIN = "https://app.example";

interface Kind {
  what: string;
  status: number;
  /** The request line, without the version, and the headers. */
  lines: string[];
  body?: string;
}

/** Sends raw lines and returns the answer; of a stream, which never ends, only its head. */
async function answerTo({ url }: TestApp, lines: string[], body = "") {
  const [first, ...headers] = lines;
  const length = body === "" ? [] : [`content-length: ${body.length}`];
  const socket = await openSocket(url);
  socket.write([`${first} HTTP/1.1`, "host: x", ...headers, ...length, "", body].join("\r\n"), "latin1");
  const text = await Promise.race([
    readAll(socket, 20_000),
    new Promise<string>((resolve) => {
      let all = "";
      socket.on("data", (chunk) => {
        all += chunk.toString("latin1");
        const [head, rest] = all.split(/\r\n\r\n(.*)/s);
        const length = Number(/content-length: (\d+)/i.exec(head!)?.[1] ?? 0);
        // The body of a server error is asserted, so wait for all of it.
        if (rest !== undefined && (rest.length >= length || !head!.startsWith("HTTP/1.1 5"))) resolve(all);
      });
    }),
  ]);
  socket.destroy();
  const [head = ""] = text.split("\r\n\r\n");
  const [status = "", ...rest] = head.split("\r\n");
  const named = rest.map((line): [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { status: Number(status.slice(9, 12)), headers: named, body: text.slice(head.length + 4) };
}

const get = (what: string, status: number, path: string, ...headers: string[]): Kind => ({
  what,
  status,
  lines: [`GET ${path}`, ...headers],
});

function post(
  bearer: string,
  what: string,
  status: number,
  path: string,
  body: string,
  ...headers: string[]
): Kind {
  return { what, status, lines: [`POST ${path}`, bearer, ...(headers.length > 0 ? headers : [FORM])], body };
}

/** `weak` is a token with contact scopes only; `id` and `etag` are those of an attachment. */
function apiKinds(bearer: string, weak: string, id: string, etag: string): Kind[] {
  const contact = "username=ada&phone_number=555";
  return [
    get("a list", 200, "/v1/contacts", bearer),
    get("a resource", 200, `/v1/attachments/${id}`, bearer),
    get("one that has not changed", 304, `/v1/attachments/${id}`, bearer, `if-none-match: ${etag}`),
    { what: "a head", status: 200, lines: ["HEAD /v1/me", bearer] },
    post(bearer, "what was created", 201, "/v1/contacts", contact),
    post(bearer, "a conflict", 409, "/v1/contacts", contact),
    ...["a first request with a key", "its replay"].map((what) =>
      post(bearer, what, 201, "/v1/contacts", "username=b&phone_number=555", FORM, "idempotency-key: k"),
    ),
    post(
      bearer,
      "its key reused",
      422,
      "/v1/contacts",
      "username=c&phone_number=555",
      FORM,
      "idempotency-key: k",
    ),
    post(bearer, "a bad field", 400, "/v1/contacts", "a=b"),
    post(bearer, "a bad type", 415, "/v1/contacts", "x", "content-type: text/plain"),
    post(bearer, "a large body", 413, "/v1/contacts", "x".repeat(70_000)),
    get("no token", 401, "/v1/contacts"),
    get("no scope", 403, "/v1/attachments", `authorization: ${weak}`),
    get("an unknown id", 404, "/v1/contacts/con_x", bearer),
    get("a changed resource", 412, `/v1/attachments/${id}`, bearer, 'if-match: "9"'),
    { what: "a method", status: 405, lines: ["PATCH /v1/contacts", bearer] },
    get("an unknown route of the API", 404, "/v1/nothing", bearer),
    get("an unknown route", 404, "/nothing"),
    get("a navigation to an unknown route", 404, "/nothing", "sec-fetch-mode: navigate", "accept: text/html"),
    get("a broken path", 404, "/v1/contacts/%zz", bearer),
    get("a broken head", 400, "/healthz", "transfer-encoding: gzip"),
    get("lines of JSON", 200, "/v1/audit", bearer, "accept: application/jsonl"),
    get("events", 200, "/v1/events", bearer, "accept: text/event-stream"),
    get("metrics", 200, "/metrics", bearer),
    get("health", 200, "/healthz"),
    get("readiness", 200, "/readyz"),
  ];
}

/** `page` is the ETag of the console, `asset` the name of one of its files. */
function openKinds(page: string, asset: string): Kind[] {
  return [
    get("the OpenAPI document", 200, "/openapi.json"),
    get("the docs", 200, "/docs/"),
    get("the docs without their slash", 308, "/docs"),
    get("an asset of the docs", 200, "/docs/site.css"),
    get("a compressed asset of the docs", 200, "/docs/site.css", "accept-encoding: br"),
    get("a page of an error", 200, "/docs/errors/rate_limited"),
    get("the console", 200, "/"),
    get("the console that has not changed", 304, "/", `if-none-match: ${page}`),
    get("an asset of the console", 200, `/assets/${asset}`),
    get("a compressed asset of the console", 200, `/assets/${asset}`, "accept-encoding: gzip"),
    get("the worker of the console", 200, "/push-worker.js"),
    get("the manifest of the console", 200, "/manifest.webmanifest"),
    {
      what: "a preflight",
      status: 204,
      lines: ["OPTIONS /v1/contacts", `origin: ${ORIGIN}`, "access-control-request-method: GET"],
    },
    // Written by raw-errors.ts.
    get("no HTTP", 400, "/healthz", "no header"),
    get("large headers", 431, "/healthz", `x: ${"x".repeat(20_000)}`),
    { what: "a proxy's request", status: 405, lines: ["CONNECT example.com:443"] },
  ];
}

/** `file` is the ETag of the file that the link opens. */
function fileKinds(bearer: string, link: string, file: string): Kind[] {
  return [
    get("a file", 200, link),
    get("a file by token", 200, link.split("?")[0]!, bearer),
    get("a range", 206, link, "range: bytes=0-1"),
    get("a range outside", 416, link, "range: bytes=99-"),
    get("a file that has not changed", 304, link, `if-none-match: ${file}`),
    get("a file of another name", 308, link.replace("a.txt", "b.txt")),
    get("a bad signature", 403, `${link}x`),
    get("an unknown file", 404, "/files/att_x/a", bearer),
    get("a broken path of a file", 404, "/files/%zz/a"),
    get("no file", 404, "/files/"),
    { what: "a method of a file", status: 405, lines: [`PUT ${link}`] },
  ];
}

async function check(server: TestApp, { what, status, lines, body }: Kind) {
  const answer = await answerTo(server, lines, body);
  assert.equal(answer.status, status, what);
  const values = (name: string) => answer.headers.filter(([each]) => each === name).map(([, value]) => value);
  assert.deepEqual(values("x-content-type-options"), ["nosniff"], what);
  assert.equal(values("request-id").length, 1, what);
  if (/^\S+ \/files\//.test(lines[0]!)) assert.deepEqual(values("referrer-policy"), ["no-referrer"], what);
  return answer;
}

test("every kind of answer has nosniff once, and those of /files have no-referrer", async (t) => {
  const server = await startOn(t, { ...(await testConfig(t)), corsOrigins: [ORIGIN] });
  const user = await server.user({ scopes: SCOPES });
  const { headers: weak } = await server.user({ scopes: ["contacts:read"] });
  const bearer = `authorization: ${user.headers.authorization}`;
  const made = await upload(server.url, user, new File(["hello"], "a.txt"));
  const { id, file_url } = (await made.json()) as { id: string; file_url: string };
  const link = file_url.slice(server.url.length);
  const asset = (await readdir(new URL("../../console/dist/assets", import.meta.url)))[0]!;
  const etagOf = async (url: string) =>
    (await fetch(url, { headers: { "accept-encoding": "identity" } })).headers.get("etag")!;
  const kinds = [
    ...apiKinds(bearer, weak.authorization, id, made.headers.get("etag")!),
    ...openKinds(await etagOf(server.url), asset),
    ...fileKinds(bearer, link, await etagOf(file_url)),
  ];
  for (const kind of kinds) await check(server, kind);
  const db = new DatabaseSync(join(server.config.dataFolder, "parley.db"));
  db.exec("ALTER TABLE contacts RENAME TO nobodys_table");
  db.close();
  const failed = await check(server, get("an error of the server", 500, "/v1/contacts", bearer));
  // The body of an error reveals nothing about the cause (CWE-209).
  const { request_id, ...problem } = JSON.parse(failed.body);
  assert.equal(request_id, new Map(failed.headers).get("request-id"));
  assert.deepEqual(problem, {
    type: `${server.url}/docs/errors/internal_error`,
    title: "Internal server error",
    ...{ status: 500, code: "internal_error" },
    detail:
      "The request failed because of an error in the server. Its log has the details under the `request_id`.",
  });
});
