import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { attachment, call, faulty, form, json, problem, seeded } from "../client.ts";
import { disposition, filePart, newAttachment, post } from "../upload.ts";

const BIDI = [..."\u061c\u200e\u200f", ..."\u202a\u202b\u202c\u202d\u202e", ..."\u2066\u2067\u2068\u2069"];

/** Asserts that the URL contains the name and that a download is offered under it. */
async function servedAs(file_url: string, filename: string): Promise<void> {
  const got = await call("GET", file_url, { token: null });
  assert.equal(got.status, 200, `${JSON.stringify(filename)} is not served: ${got.text}`);
  assert.equal(disposition(got).filename, filename);
}

const NAMES = [
  "plain.txt",
  "two words.txt",
  "no extension",
  ".hidden",
  "...",
  "naïve café.txt",
  "日本語のファイル.txt",
  "ملف.txt",
  "emoji 👩‍👩‍👧 🇪🇺.png",
  "e\u0301 decomposed.txt",
  "100%.txt",
  "%41%2f%2e%2e.txt",
  "%00.txt",
  "semi;colon; filename=other.txt",
  "it's.txt",
  "a=b, c.txt",
  "a&b?c#d+e.txt",
  "<script>alert(1)<b>",
  "~$[draft]{1}^`|*:.txt",
  `${"x".repeat(251)}.txt`,
  `${"é".repeat(125)}a.txt`,
  "😀".repeat(63),
  "__proto__",
];

for (const name of NAMES) {
  test(`an upload keeps the name ${name.slice(0, 40)}`, async () => {
    const made = attachment(await post([filePart(name, "x", "text/plain")]), 201);
    assert.equal(made.filename, name);
    await servedAs(made.file_url, name);
  });
}

for (const name of [...NAMES, 'say "hi".txt', 'back"slash"']) {
  test(`a rename accepts the name ${name.slice(0, 40)}`, async () => {
    const made = await newAttachment();
    for (const encode of [form, json]) {
      const renamed = attachment(await call("PUT", `/v1/attachments/${made.id}`, encode({ filename: name })));
      assert.equal(renamed.filename, name);
      await servedAs(renamed.file_url, name);
    }
  });
}

for (const [sent, kept] of [
  ["/etc/passwd", "passwd"],
  ["../../up.txt", "up.txt"],
  ["docs/a b.txt", "a b.txt"],
  ["C:\\docs\\new.txt", "new.txt"],
  ["..\\..\\up.txt", "up.txt"],
  ["a\\b/c.txt", "c.txt"],
] as const) {
  test(`the last part of an uploaded path such as ${sent} is kept`, async () => {
    const made = attachment(await post([filePart(sent)]), 201);
    assert.equal(made.filename, kept);
    await servedAs(made.file_url, kept);
  });
}

test("an uploaded name in a quoted string keeps its quotes", async () => {
  const made = attachment(await post([filePart('say \\"hi\\".txt')]), 201);
  assert.equal(made.filename, 'say "hi".txt');
  await servedAs(made.file_url, 'say "hi".txt');
});

test("an uploaded name with quotes as browsers write them is kept as written or decoded", async () => {
  const made = await newAttachment({ name: 'say "hi".txt' });
  assert.ok(['say "hi".txt', "say %22hi%22.txt"].includes(made.filename), made.filename);
  await servedAs(made.file_url, made.filename);
});

for (const [what, name] of [
  ["empty", ""],
  ["one dot", "."],
  ["two dots", ".."],
  ["a path that ends in two dots", "docs/.."],
  ["a path without a last part", "docs/"],
  ["256 bytes", "x".repeat(256)],
  ["over 255 bytes in less than 255 characters", "é".repeat(128)],
  ["of nothing but bidi controls", "\u202e\u202c"],
  ["very long", "x".repeat(10_000)],
] as const) {
  test(`an uploaded name that is ${what} is 400`, async () => {
    problem(await post([filePart(name)]), 400);
  });
}

for (const [what, name] of [
  ["empty", ""],
  ["one dot", "."],
  ["two dots", ".."],
  ["a path", "docs/a.txt"],
  ["a Windows path", "docs\\a.txt"],
  ["256 bytes", "x".repeat(256)],
  ["over 255 bytes in less than 255 characters", "😀".repeat(64)],
  ["of nothing but bidi controls", "\u202e\u202c"],
] as const) {
  test(`a new name that is ${what} is 400 naming filename`, async () => {
    const made = await newAttachment({ name: "before.txt" });
    const path = `/v1/attachments/${made.id}`;
    for (const encode of [form, json])
      faulty(await call("PUT", path, encode({ filename: name })), "filename");
    assert.equal(attachment(await call("GET", path)).filename, "before.txt");
  });
}

test("bidi controls are stripped from an uploaded name and from a new one", async () => {
  for (const control of BIDI) {
    const name = `photo${control}gnp.exe${control}`;
    const made = attachment(await post([filePart(name)]), 201);
    assert.equal(made.filename, "photognp.exe", `U+${control.charCodeAt(0).toString(16)}`);
    const renamed = await call(
      "PUT",
      `/v1/attachments/${made.id}`,
      form({ filename: `${control}invoice${control}.txt` }),
    );
    assert.equal(attachment(renamed).filename, "invoice.txt");
  }
});

test("a new name with a control character or lone surrogate is 400 invalid_parameter", async () => {
  const made = await newAttachment({ name: "before.txt" });
  const path = `/v1/attachments/${made.id}`;
  for (const character of ["\0", "\n", "\r", "\t", "\u001b", "\u007f", "\u009f"]) {
    for (const encode of [form, json]) {
      const reply = await call("PUT", path, encode({ filename: `a${character}b.txt` }));
      faulty(reply, "filename", "invalid_parameter");
    }
  }
  faulty(await call("PUT", path, json('{"filename":"a\\ud800.txt"}')), "filename", "invalid_parameter");
  assert.equal(attachment(await call("GET", path)).filename, "before.txt");
});

test("an uploaded name never keeps a control character", async () => {
  for (const character of ["\0", "\t", "\u0001", "\u001b", "\u007f", "\u0085"]) {
    const reply = await post([filePart(`a${character}b.txt`)]);
    if (reply.status === 201) assert.doesNotMatch(attachment(reply, 201).filename, /\p{Cc}/u);
    else problem(reply, 400);
  }
});

test("an uploaded name that is not UTF-8 is 400", async () => {
  for (const bytes of [[0xff], [0xe9], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0xaf], [0xf5, 0x80, 0x80, 0x80]]) {
    const name = Buffer.concat([Buffer.from("a"), Buffer.from(bytes), Buffer.from(".txt")]);
    problem(await post([filePart(name)]), 400);
  }
});

test("any valid new name is kept, appears in the URL and is the download's name", async (t) => {
  const made = await newAttachment();
  const bidi = new RegExp(`[${BIDI.join("")}]`, "u");
  const name = fc
    .string({ unit: "binary", minLength: 1, maxLength: 60 })
    .filter((text) => !/[\p{Cc}/\\]/u.test(text) && !bidi.test(text) && text !== "." && text !== "..")
    .filter((text) => Buffer.byteLength(text) <= 255);
  await fc.assert(
    fc.asyncProperty(name, async (filename) => {
      const reply = await call("PUT", `/v1/attachments/${made.id}`, json({ filename }));
      const renamed = attachment(reply);
      assert.equal(renamed.filename, filename);
      await servedAs(renamed.file_url, filename);
    }),
    { seed: seeded(t), numRuns: 60 },
  );
});

test("a name in .NET's encoded words is decoded, and only a real path is cut", async () => {
  for (const [sent, filename] of [
    ["=?utf-8?B?4oK/5pel5pys6KqeLnR4dA==?=", "₿日本語.txt"],
    ["=?utf-8?Q?folder=2Fna=C3=AFve.txt?=", "naïve.txt"],
  ] as const) {
    const made = attachment(await post([filePart(sent, "x", "text/plain")]), 201);
    assert.equal(made.filename, filename);
    await servedAs(made.file_url, filename);
  }
  for (const sent of ["=?iso-8859-1?Q?caf=E9?=", "=?utf-8?B?4oK/5pel", "=?utf-8?B?AA==?="]) {
    const { code, detail } = problem(await post([filePart(sent, "x")]), 400);
    if (code !== "invalid_parameter") assert.match(detail, /RFC 2047/, sent);
  }
});
