// Multipart forms, parts and part headers from the tests of other parsers: each is accepted as an upload or clearly
// refused.
import assert from "node:assert/strict";
import { shipped, tableOf } from "../packages.ts";
import { type Ask, client, each, FORM_TYPE, parsed, refused, type Target } from "../target.ts";
import { download, fileForm, isRun, upload } from "../uploads.ts";

const FORMS = ["busboy/test/test-types-multipart.js", "@fastify/busboy/test/types-multipart.test.js"];
const FIXTURES = "@fastify/busboy/test/fixtures";
const DISPOSITIONS = "@fastify/busboy/test/parse-params.test.js";
const HEADERS = "@fastify/busboy/test/dicer-headerparser.test.js";

interface Form {
  what: string;
  boundary: string;
  source: (string | Uint8Array)[];
  expected: unknown[];
}

const bytesOf = (source: Form["source"] | string) =>
  Buffer.concat([source].flat().map((piece) => Buffer.from(piece as string)));
const lastPart = (path: string) => path.split(/[/\\]/).at(-1)!;
const send = (ask: Ask, boundary: string, body: Buffer) =>
  ask("POST", "/v1/attachments", {
    headers: { "content-type": `multipart/form-data; boundary=${boundary}` },
    body,
  });

/** Sends whole forms unchanged: with unknown fields, truncated parts, no end. */
export async function forms(target: Target): Promise<string> {
  const ask = client(target, await target.user());
  const tables = FORMS.flatMap((file) => tableOf<Form>(file));
  const fixtures = shipped(FIXTURES, /original$/);
  let accepted = 0;
  await each(tables, async ({ what, boundary, source }) => {
    const answer = await send(ask, boundary, bytesOf(source));
    if (answer.status !== 201) {
      assert.match(refused(answer), /^(?:malformed_body|(?:unknown|missing)_parameter)$/);
      return;
    }
    // The only forms whose single part is named `file`.
    assert.equal(what, "Unicode filenames");
    assert.equal(parsed(answer).filename, "näme.txt");
    accepted++;
  });
  assert.equal(accepted, FORMS.length);
  await each(fixtures, async ({ bytes }) => {
    const boundary = /--(\S+)/.exec(bytes.toString("latin1"))![1]!;
    assert.match(refused(await send(ask, boundary, bytes)), /^(?:malformed_body|unknown_parameter)$/);
  });
  return `busboy and @fastify/busboy: ${tables.length + fixtures.length} forms, ${accepted} accepted`;
}

/** Sends each part with a file as the part `file` of a separate form. */
export async function parts(target: Target): Promise<string> {
  const ask = client(target, await target.user());
  const tables = FORMS.flatMap((file) => tableOf<Form>(file));
  const names = new Set(JSON.stringify(tables.map(({ expected }) => expected)).match(/"(?:[^"\\]|\\.)*"/g));
  const all = tables.flatMap(({ boundary, source }) =>
    bytesOf(source)
      .toString("latin1")
      .split(`--${boundary}`)
      .filter((part) => /; filename/.test(part))
      .map((part) => ({ boundary, part: part.replace(/\bname=(?:"[^"]*"|[^;\s]+)/, 'name="file"') })),
  );
  const made = { kept: 0, refused: 0 };
  await each(all, async ({ boundary, part }) => {
    const isWhole = part.endsWith("\r\n") && !part.endsWith("\r\n\r\n");
    const body = `--${boundary}${part}${isWhole ? `--${boundary}--` : ""}`;
    const answer = await send(ask, boundary, Buffer.from(body, "latin1"));
    const [head, ...content] = part.split("\r\n\r\n");
    const isFolded = /\r\n[ \t]/.test(head!);
    if (answer.status !== 201) {
      refused(answer);
      assert.ok(
        !isWhole || isFolded || head!.length > 255 || /filename=""/.test(head!),
        answer.body.toString(),
      );
      made.refused++;
      return;
    }
    assert.ok(isWhole && !isFolded);
    const attachment = parsed(answer);
    const isExpected = [...names].some((name) => lastPart(JSON.parse(name)) === attachment.filename);
    assert.ok(isExpected, String(attachment.filename));
    await download(ask, attachment, Buffer.from(content.join("\r\n\r\n").slice(0, -2), "latin1"));
    made.kept++;
  });
  assert.ok(made.kept > 20);
  return `busboy and @fastify/busboy: ${all.length} parts with a file, ${made.kept} accepted, ${made.refused} refused`;
}

interface Params {
  source: string;
  expected: (string | [name: string, value: string])[];
}

/** A filename parameter is valid or ignored as a whole: no text after a quoted string, no other character set. */
const ODD = /="(?:[^"\\]|\\.)*"[^\s;]|[; ]filename\*=iso-8859-1|unterminated$/;

/** Sends values with parameters as Content-Disposition and Content-Type of a part, and as Content-Type of a request. */
export async function parameters(target: Target): Promise<string> {
  const ask = client(target, await target.user());
  const all = tableOf<Params>(DISPOSITIONS);
  const made = { kept: 0, refused: 0 };
  await each(all, async ({ source, expected }) => {
    const params = source.replace(/^[^;]*/, "").replace(/; name="[^"]*"/, "");
    const name = expected.find((one) => one[0] === "filename")?.[1];
    const file = await upload(ask, fileForm(params, "x"));
    assert.equal(file !== undefined, name !== undefined && !ODD.test(source), source);
    // That table has bytes read as Latin-1, but clients send UTF-8.
    if (file) assert.equal(file.filename, source.includes("é") ? "café.png" : lastPart(name!));
    made[file ? "kept" : "refused"]++;
    const typed = await upload(ask, fileForm('; filename="a"', "\x01", source));
    assert.ok(typed && !isRun(String(typed.file_type)), source);
    for (const path of ["/v1/attachments", "/v1/contacts"]) {
      const headers = { ...FORM_TYPE, "content-type": source };
      assert.match(refused(await ask("POST", path, { headers, body: "a=b" })), /^(?:unsupported|malformed)_/);
    }
  });
  return `@fastify/busboy: ${all.length} values with parameters, as 4 headers: ${made.kept} names kept, ${made.refused} refused`;
}

/** Sends each after a valid header. What follows the empty line is in the file. */
export async function partHeaders(target: Target): Promise<string> {
  const ask = client(target, await target.user());
  const known = { DCRLF: "\r\n\r\n", MAXED_BUFFER: Buffer.alloc(128 * 1024, "A") };
  const all = tableOf<Pick<Form, "source">>(HEADERS, known);
  const made = { kept: 0, refused: 0 };
  await each(all, async ({ source }) => {
    const [block, ...rest] = bytesOf(source).toString("latin1").split("\r\n\r\n");
    const lines = block === "" ? [] : block!.split("\r\n");
    const isGood = lines.every((line) => /^[!-9;-~]+:[^\r\n]*$/.test(line));
    const isOnce = new Set(lines.map((line) => line.split(":", 1)[0])).size === lines.length;
    const content = rest.join("\r\n\r\n");
    const head = ['--b\r\nContent-Disposition: form-data; name="file"; filename="a"', ...lines].join("\r\n");
    const answer = await send(ask, "b", Buffer.from(`${head}\r\n\r\n${content}\r\n--b--`));
    if (isGood && isOnce) await download(ask, parsed(answer), content);
    else assert.equal(refused(answer), "malformed_body");
    made[isGood && isOnce ? "kept" : "refused"]++;
  });
  return `@fastify/busboy: ${all.length} blocks of headers of a part: ${made.kept} accepted, ${made.refused} refused`;
}
