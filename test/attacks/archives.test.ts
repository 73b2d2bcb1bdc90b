// Archives of other users' files through forged or changed URLs, and file names that do harm when an archive is
// unpacked.
import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { test } from "node:test";
import { startOn, type TestApp, testConfig, upload } from "../support/app.ts";
import { add, code, give, person, read, send } from "../support/people.ts";
import { unzip } from "../support/zip.ts";

const SECRET = "s".repeat(32);
const START = Date.UTC(2026, 0, 1, 0, 30);
const MINUTE = 60_000;

async function scene(t: Parameters<typeof testConfig>[0], limits = {}) {
  let now = START;
  const config = { ...(await testConfig(t, limits)), secrets: [SECRET] };
  const server = await startOn(t, config, { clock: () => now });
  const [ann, bob, eve] = [
    await person(server, "ann"),
    await person(server, "bob"),
    await person(server, "eve"),
  ];
  await add(server, bob, "ann");
  const { conversation_id: conversation } = await add(server, ann, "bob");
  const [first, second] = [
    await give(server, ann, conversation, "first"),
    await give(server, ann, conversation, "second"),
  ];
  const url = async (files: object) =>
    new URL((await read<{ url: string }>(send(server, ann, "POST", "/v1/archives", files), 201)).url);
  return { server, ann, bob, eve, conversation, first, second, url, pass: (ms: number) => (now += ms) };
}

test("a changed or unsigned archive URL is refused", async (t) => {
  const { eve, first, second, conversation, url } = await scene(t);
  const [ofOne, ofAll] = [
    await url({ attachment_ids: [first] }),
    await url({ conversation_id: conversation }),
  ];
  assert.equal((await fetch(ofOne)).status, 200);
  assert.equal((await fetch(ofAll)).status, 200);
  const changed = (from: URL, change: (url: URL) => void) => {
    const url = new URL(from);
    change(url);
    return url;
  };
  const set = (from: URL, name: string, value: string) =>
    changed(from, ({ searchParams }) => searchParams.set(name, value));
  const suffix = (id: string) => id.slice(4);
  const attacks = [
    set(ofOne, "user", eve.id),
    set(ofOne, "files", suffix(second)),
    set(ofOne, "files", suffix(first) + suffix(second)),
    set(ofOne, "files", ""),
    set(ofOne, "files", `${conversation}.${second}`),
    set(ofAll, "files", `${conversation}.~`),
    set(ofAll, "user", ""),
    set(ofOne, "expires", String(Number(ofOne.searchParams.get("expires")) + 3600)),
    set(ofOne, "signature", ofAll.searchParams.get("signature")!),
    set(ofOne, "signature", ""),
    changed(ofOne, ({ searchParams }) => searchParams.delete("signature")),
    changed(ofOne, ({ searchParams }) => searchParams.delete("files")),
    changed(ofOne, (url) => (url.search = "")),
    changed(ofOne, (url) => (url.pathname = "/archives/other.exe")),
    // The same signed text, but the boundary between its parts is moved.
    changed(ofOne, (url) => {
      const { searchParams } = url;
      searchParams.set("files", `${searchParams.get("files")}\n${url.pathname.slice("/archives/".length)}`);
      url.pathname = "/archives/";
    }),
  ];
  for (const each of attacks) {
    const answer = await fetch(each);
    assert.ok([400, 403, 404].includes(answer.status), `${answer.status} ${each}`);
    assert.match(answer.headers.get("content-type")!, /^application\/problem\+json/);
  }
  // A member's token does not replace the signature.
  const { headers } = eve;
  assert.equal(await code(fetch(attacks[0]!, { headers }), 403), "invalid_signature");
});

test("the signature of a file opens no archive, and vice versa", async (t) => {
  const { server, ann, first, url } = await scene(t);
  const archive = await url({ attachment_ids: [first] });
  const file = await read<{ file_url: string }>(send(server, ann, "GET", `/v1/attachments/${first}`), 200);
  const ofFile = new URL(file.file_url);
  const swapped = new URL(archive);
  swapped.searchParams.set("signature", ofFile.searchParams.get("signature")!);
  assert.equal(await code(fetch(swapped), 403), "invalid_signature");
  ofFile.searchParams.set("signature", archive.searchParams.get("signature")!);
  assert.equal(await code(fetch(ofFile), 403), "invalid_signature");
  const [, filename] = archive.pathname.split("/archives/");
  const { user, files } = Object.fromEntries(archive.searchParams);
  const subject = createHash("sha256").update(`${user}\n${files}\n${filename}`).digest("base64url");
  const expires = archive.searchParams.get("expires");
  const signature = createHmac("sha256", SECRET).update(`archive.${subject}.${expires}`).digest("base64url");
  assert.equal(signature, archive.searchParams.get("signature"), "the signed text");
  const asFile = `${server.url}/files/archive.${subject}/x?expires=${expires}&signature=${signature}`;
  assert.equal(await code(fetch(asFile), 404), "attachment_not_found");
});

test("an archive URL expires after 90 minutes", async (t) => {
  const { first, url, pass } = await scene(t);
  const archive = await url({ attachment_ids: [first] });
  assert.equal(Number(archive.searchParams.get("expires")), START / 1000 + 90 * 60);
  pass(90 * MINUTE - 1000);
  assert.equal((await fetch(archive)).status, 200);
  pass(1000);
  assert.equal(await code(fetch(archive), 403), "invalid_signature");
});

test("guessed signatures of archives count as failures, expired ones do not", async (t) => {
  const { first, url, pass } = await scene(t, {
    requestsPerSecond: 500,
    failuresPerSecond: 1,
    failuresBurst: 5,
  });
  const archive = await url({ attachment_ids: [first] });
  const guess = new URL(archive);
  guess.searchParams.set("signature", "A".repeat(43));
  const expired = new URL(archive);
  pass(3 * 3600_000);
  for (let i = 0; i < 10; i++) assert.equal((await fetch(expired)).status, 403);
  for (let i = 0; i < 5; i++) assert.equal((await fetch(guess)).status, 403);
  assert.equal(await code(fetch(guess), 429), "rate_limited");
  assert.equal((await fetch(await url({ attachment_ids: [first] }))).status, 200, "a valid one still works");
});

const uploaded = async (server: TestApp, who: Parameters<typeof give>[1], name: string) =>
  (await read<{ id: string }>(upload(server.url, who, new File(["x"], name)), 201)).id;

test("no name in an archive escapes its folder (zip slip) or names a device", async (t) => {
  const { server, ann } = await scene(t);
  const names = '..;a/../../b;..\\..\\c;CON;nul.txt;x.;e<>:"|?*f;same;SAME; lead;$(id).sh'.split(";");
  const ids: string[] = [];
  for (const name of names) {
    // The server checks the name of an upload and the name of a rename.
    const id = await uploaded(server, ann, "x");
    await send(server, ann, "PUT", `/v1/attachments/${id}`, { filename: name });
    ids.push(id);
  }
  const { url } = await read<{ url: string }>(
    send(server, ann, "POST", "/v1/archives", { attachment_ids: ids }),
    201,
  );
  const found = unzip(Buffer.from(await (await fetch(url)).arrayBuffer())).map(({ name }) => name);
  assert.equal(found.join(";"), "x;x (2);x (3);CON_;nul_.txt;x_;e_______f;same;SAME (2); lead;$(id).sh");
});

test("a malformed archive URL is 403 or 404", async (t) => {
  const { server } = await scene(t);
  for (const path of "/archives/%zz.zip /archives/ /archives /archives/a/b /archives/..%2fx?files=a".split(
    " ",
  )) {
    const answer = await fetch(server.url + path);
    assert.ok([403, 404].includes(answer.status), `${answer.status} ${path}`);
    assert.equal(typeof ((await answer.json()) as { code: string }).code, "string");
  }
});
