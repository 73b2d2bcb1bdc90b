// URL-encoded forms from the tests of other parsers. Unchanged, their fields are unknown and refused; under a known
// name, each value is returned.
import assert from "node:assert/strict";
import { tableOf } from "../packages.ts";
import { accepted, client, each, FORM_TYPE, refused, type Target } from "../target.ts";

const FILES = ["busboy/test/test-types-urlencoded.js", "@fastify/busboy/test/types-urlencoded.test.js"];

interface Case {
  source: (string | Uint8Array)[];
  expected: [name: string, value: string, ...unknown[]][];
  charset?: string;
  limits?: object;
}

export async function urlencoded(target: Target): Promise<string> {
  const ask = client(target, await target.user());
  const known = { transcode: (bytes: Buffer) => bytes };
  const all = FILES.flatMap((file) => tableOf<Case>(file, known));
  let kept = 0;
  await each(all, async ({ source, expected, charset, limits }, index) => {
    const body = source.map((piece) => Buffer.from(piece as string).toString("latin1")).join("");
    const type = FORM_TYPE["content-type"] + (charset === undefined ? "" : `; charset=${charset}`);
    const post = (text: string) =>
      ask("POST", "/v1/contacts", { headers: { "content-type": type }, body: text });
    const get = (text: string) => ask("GET", `/v1/contacts?${text}`);
    const isOther = charset !== undefined && !/^utf-?8$/i.test(charset);
    const isBroken = /%(?![0-9a-f]{2})/i.test(body);
    const isEmpty = /^&*$/.test(body);
    const code = refused(await post(body));
    if (isOther) return assert.equal(code, "unsupported_media_type");
    if (isBroken) assert.equal(code, "malformed_body");
    else assert.match(code, isEmpty ? /^missing_parameter$/ : /^(?:unknown|repeated)_parameter$/);
    const query = await get(body);
    if (isEmpty) assert.equal(query.status, 200);
    else assert.match(refused(query), isBroken ? /^malformed_request$/ : /^(?:unknown|repeated)_parameter$/);
    // A single value, under a known name. Cases about limits are skipped, because Parley truncates nothing.
    if (isBroken || limits || expected.length !== 1 || !/^[^&]*=[^&]+$/.test(body)) return;
    const named = `username=form-${index}&phone_number=555&${body.replace(/^[^=]*/, "display_name")}`;
    assert.equal(accepted(await post(named))?.display_name, expected[0]![1]);
    kept++;
  });
  assert.ok(kept > 5);
  return `busboy and @fastify/busboy: ${all.length} forms of fields, as bodies and queries; ${kept} values in a field`;
}
