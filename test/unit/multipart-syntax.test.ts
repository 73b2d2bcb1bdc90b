import assert from "node:assert/strict";
import { test } from "node:test";
import { boundaryOf, MultipartReader } from "../../src/http/protocol/multipart.ts";
import { byteByByte, MAX_HEADER_BYTES, readForm, refused, sourceOf } from "./multipart-form.ts";

const A = 'Content-Disposition: form-data; name="a"';

/** Returns a form whose only part has these headers and the body "x". */
const formWith = (headers: string) => `--b\r\n${headers}\r\n\r\nx\r\n--b--`;

const MALFORMED: [what: string, body: string][] = [
  ["no byte", ""],
  ["line ends alone", "\r\n\r\n"],
  ["no closing boundary", `--b\r\n${A}\r\n\r\nx`],
  ["no closing boundary but a line end", `--b\r\n${A}\r\n\r\nx\r\n`],
  ["an opening boundary for the closing one", `--b\r\n${A}\r\n\r\nx\r\n--b\r\n`],
  ["half a closing boundary", `--b\r\n${A}\r\n\r\nx\r\n--b-`],
  ["one dash and a line end for the closing boundary", `--b\r\n${A}\r\n\r\nx\r\n--b-\r\n`],
  ["a closing boundary without a line end before it", `--b\r\n${A}\r\n\r\nx--b--`],
  ["a closing boundary after a bare line feed", `--b\r\n${A}\r\n\r\nx\n--b--`],
  ["a boundary of another case", `--B\r\n${A}\r\n\r\nx\r\n--B--`],
  ["a boundary that continues", `--bc\r\n${A}\r\n\r\nx\r\n--bc--`],
  ["two characters for the line end after a boundary", `--bxx${A}\r\n\r\nx\r\n--b--`],
  ["a space after a boundary", `--b \r\n${A}\r\n\r\nx\r\n--b--`],
  ["a bare line feed after a boundary", `--b\n${A}\r\n\r\nx\r\n--b--`],
  ["a bare carriage return after a boundary", `--b\r${A}\r\n\r\nx\r\n--b--`],
  ["text after the closing boundary", `${formWith(A)}\r\nx`],
  ["another form after the closing boundary", `${formWith(A)}\r\n${formWith(A)}`],
  ["a form feed after the closing boundary", `${formWith(A)}\f`],
  ["a NUL after the closing boundary", `${formWith(A)}\0`],
  ["a no-break space after the closing boundary", `${formWith(A)}\u00a0`],
  ["no headers", "--b\r\n\r\nx\r\n--b--"],
  ["no blank line after the headers", `--b\r\n${A}\r\n--b--`],
  ["line feeds for line ends", `--b\n${A}\n\nx\n--b--`],
  ["a header without a colon", formWith(`${A}\r\nX-Flag`)],
  ["a header without a name", formWith(`${A}\r\n: x`)],
  ["a space before a colon", formWith('Content-Disposition : form-data; name="a"')],
  ["a space before a header", formWith(` ${A}`)],
  ["a folded header", formWith('Content-Disposition: form-data;\r\n name="a"')],
  ["a header name beyond ASCII", formWith(`${A}\r\nX-Naïve: x`)],
  ["a bare carriage return in a header", formWith(`${A}\r\nX: a\rb`)],
  ["a bare line feed in a header", formWith(`${A}\r\nX: a\nb`)],
  ["a bare line feed between headers", formWith(`${A}\nX: b`)],
  ["a NUL in a header", formWith(`${A}; filename="a\0.txt"`)],
  ["a control character in a header", formWith(`${A}\r\nX: a\x1bb`)],
  ["a DEL in a header", formWith(`${A}\r\nX: a\x7fb`)],
  ["a header twice", formWith(`${A}\r\nX: 1\r\nX: 1`)],
  ["a header twice in different case", formWith(`${A}\r\n${A.toLowerCase()}`)],
  ["no Content-Disposition", formWith("Content-Type: text/plain")],
  ["an empty Content-Disposition", formWith("Content-Disposition:")],
  ["the disposition attachment", formWith('Content-Disposition: attachment; name="a"')],
  ["the disposition file", formWith('Content-Disposition: file; name="a"')],
  ["a disposition that continues", formWith('Content-Disposition: form-datax; name="a"')],
  ["a disposition without a separator", formWith('Content-Disposition: form-data name="a"')],
  ["no name", formWith('Content-Disposition: form-data; filename="a"')],
  ["no parameter", formWith("Content-Disposition: form-data")],
  ["a name without a value", formWith("Content-Disposition: form-data; name")],
  ["a name twice", formWith(`${A}; name="b"`)],
  ["a name twice in different case", formWith(`${A}; NAME=a`)],
  ["a file name twice", formWith(`${A}; filename="a"; filename="a"`)],
  ["a name without a closing quote", formWith('Content-Disposition: form-data; name="a')],
  ["a name whose closing quote is escaped", formWith('Content-Disposition: form-data; name="a\\"')],
  ["a name with a quote in it", formWith('Content-Disposition: form-data; name="a"b"')],
  ["a quote in a name without quotes", formWith('Content-Disposition: form-data; name=a"b')],
  ["text after a name", formWith(`${A}b`)],
  ["a space in a name without quotes", formWith("Content-Disposition: form-data; name=a b")],
  ["a comma at the end", formWith(`${A},`)],
  ["a comma for a semicolon", formWith(`${A}, filename="a"`)],
  ["an empty parameter", formWith(`${A};; filename="a"`)],
  ["the encoding base64", formWith(`${A}\r\nContent-Transfer-Encoding: base64`)],
  ["the encoding quoted-printable", formWith(`${A}\r\nContent-Transfer-Encoding: Quoted-Printable`)],
  ["an unknown encoding", formWith(`${A}\r\nContent-Transfer-Encoding: x-gzip`)],
  ["an empty encoding", formWith(`${A}\r\nContent-Transfer-Encoding:`)],
];

for (const [what, body] of MALFORMED) {
  test(`a form with ${what} is refused`, () => refused(Buffer.from(body), "b"));
}

test("a form with headers that are not UTF-8 is refused", async () => {
  for (const bytes of ["\xff", "\xc3", "\xed\xa0\x80", "\xc0\xaf"]) {
    await refused(Buffer.from(formWith(`${A}; filename="${bytes}"`), "latin1"), "b");
  }
});

test("the second part of a form obeys the same rules as the first", async () => {
  const first = `--b\r\n${A}\r\n\r\nx\r\n`;
  for (const [, body] of MALFORMED) {
    if (body.startsWith("--b")) await refused(Buffer.from(first + body), "b");
  }
});

type SentNames = [name: string, filename?: string | undefined, type?: string];

const ACCEPTED: [what: string, body: string, parts: SentNames[]][] = [
  ["no part", "--b--", []],
  ["no part, and a line end", "--b--\r\n", []],
  ["one field", formWith(A), [["a"]]],
  ["one name twice", `--b\r\n${A}\r\n\r\nx\r\n${formWith(A)}`, [["a"], ["a"]]],
  ["a file", formWith(`${A}; filename="f.txt"\r\nContent-Type: text/plain`), [["a", "f.txt", "text/plain"]]],
  [
    "headers in another order",
    formWith(`Content-Type: text/plain\r\n${A}`),
    [["a", undefined, "text/plain"]],
  ],
  [
    "headers in another case",
    formWith('CONTENT-DISPOSITION: Form-Data; NAME="a"; FileName="F"'),
    [["a", "F"]],
  ],
  ["no spaces", formWith('Content-Disposition:form-data;name="a";filename="f"'), [["a", "f"]]],
  ["many spaces", formWith('Content-Disposition: \t form-data ; \t name = "a" ;filename="f" '), [["a", "f"]]],
  [
    "names without quotes",
    formWith("Content-Disposition: form-data; name=a; filename=f.txt"),
    [["a", "f.txt"]],
  ],
  ["the file name first", formWith('Content-Disposition: form-data; filename="f"; name="a"'), [["a", "f"]]],
  ["a semicolon at the end", formWith(`${A};`), [["a"]]],
  ["empty names", formWith('Content-Disposition: form-data; name=""; filename=""'), [["", ""]]],
  ["separators in a name", formWith(`${A}; filename="a; name=b"`), [["a", "a; name=b"]]],
  ["further headers and parameters", formWith(`X-A: b: c\r\n${A}; size=3\r\nContent-Length: 1`), [["a"]]],
  ["an empty header", formWith(`${A}\r\nX:`), [["a"]]],
  ["a tab in a header", formWith(`${A}\r\nX: a\tb`), [["a"]]],
  ...["7bit", "8bit", "binary", "BINARY"].map((encoding): [string, string, SentNames[]] => [
    `the encoding ${encoding}`,
    formWith(`${A}\r\nContent-Transfer-Encoding: ${encoding}`),
    [["a"]],
  ]),
];

for (const [what, body, parts] of ACCEPTED) {
  test(`a form with ${what} is accepted`, async () => {
    for (const chunks of [[Buffer.from(body)], byteByByte(Buffer.from(body))]) {
      assert.deepEqual(
        await readForm(chunks, "b"),
        parts.map(([name, filename, type]) => ({ name, filename, type, body: Buffer.from("x") })),
      );
    }
  });
}

test("the headers of a part are limited in bytes", async () => {
  const limit = 200;
  const exact = `${A}; filename="${"é".repeat(70)}"\r\nX: `;
  const fill = "x".repeat(limit - Buffer.byteLength(exact));
  const [part] = await readForm([Buffer.from(formWith(exact + fill))], "b", limit);
  assert.equal(part?.filename, "é".repeat(70));
  await refused(Buffer.from(formWith(`${exact}${fill}x`)), "b", limit);
});

test("a preamble beyond the header limit is refused", async () => {
  const body = (length: number) => Buffer.from(`${"x".repeat(length)}\r\n${formWith(A)}`);
  assert.equal((await readForm([body(100)], "b", 200)).length, 1);
  assert.equal((await readForm(byteByByte(body(100)), "b", 200)).length, 1);
  await refused(body(201), "b", 200);
});

const FILENAMES: [sent: string, filename: string][] = [
  ["plain.txt", "plain.txt"],
  ['say \\"hi\\".txt', 'say "hi".txt'],
  ["say %22hi%22.txt", 'say "hi".txt'],
  ["a%0D%0Ab%0d%0a.txt", "a\r\nb\r\n.txt"],
  ["C:\\Users\\ada\\new.txt", "C:\\Users\\ada\\new.txt"],
  ["C:\\\\Users\\\\ada\\\\new.txt", "C:\\Users\\ada\\new.txt"],
  ["folder/a.txt", "folder/a.txt"],
  ["C:\\Übung\\é.txt", "C:\\Übung\\é.txt"],
  ["100%.txt", "100%.txt"],
  ["%41%2F%00%E9.txt", "%41%2F%00%E9.txt"],
  ["日本語 😀.txt", "日本語 😀.txt"],
  ["=?utf-8?Q?a?=", "a"],
  [" spaces ", " spaces "],
  ["\u202egpj.exe", "\u202egpj.exe"],
];

for (const [sent, filename] of FILENAMES) {
  test(`the filename ${sent} is read as ${JSON.stringify(filename)}`, async () => {
    const [part] = await readForm([Buffer.from(formWith(`${A}; filename="${sent}"`))], "b");
    assert.equal(part?.filename, filename);
  });
}

const EXTENDED: [parameters: string, filename: string][] = [
  ["; filename*=UTF-8''na%C3%AFve%20%F0%9F%98%80.txt", "naïve 😀.txt"],
  ["; filename*=utf-8'en'a.txt", "a.txt"],
  [`; filename="fallback.txt"; filename*=UTF-8''%E2%82%AC.txt`, "€.txt"],
  [`; filename*=UTF-8''%E2%82%AC.txt; filename="fallback.txt"`, "€.txt"],
];

for (const [parameters, filename] of EXTENDED) {
  test(`the filename${parameters} is ${filename}`, async () => {
    const [part] = await readForm([Buffer.from(formWith(A + parameters))], "b");
    assert.equal(part?.filename, filename);
  });
}

for (const value of [
  "a.txt",
  "UTF-8'a.txt",
  "XUTF-8''a.txt",
  "ISO-8859-1''%E9.txt",
  "UTF-8''%E9.txt",
  "UTF-8''%zz",
  "UTF-8''%",
]) {
  test(`the filename ; filename*=${value} is refused`, () =>
    refused(Buffer.from(formWith(`${A}; filename="a.txt"; filename*=${value}`)), "b"));
}

test("escapes of a filename also apply to the name of the part", async () => {
  const [part] = await readForm(
    [Buffer.from(formWith('Content-Disposition: form-data; name="\\"%22"'))],
    "b",
  );
  assert.equal(part?.name, '""');
});

test("the digest of a part is its header as sent, and undefined without one", async () => {
  const digest = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:";
  for (const [headers, expected] of [
    [`${A}\r\nContent-DIGEST:  ${digest} `, digest],
    [A, undefined],
  ] as const) {
    const source = sourceOf([Buffer.from(formWith(headers))]);
    const part = await new MultipartReader(source, "b", MAX_HEADER_BYTES).next();
    assert.equal(part?.digest, expected);
  }
});

const BOUNDARIES: [parameters: string, boundary: string | null][] = [
  ["; boundary=abc", "abc"],
  ['; boundary="abc"', "abc"],
  ["; BOUNDARY=aBc", "aBc"],
  [";boundary=abc", "abc"],
  ["; charset=utf-8; boundary=abc", "abc"],
  ["; boundary=abc; charset=utf-8", "abc"],
  ["; boundary=abc;charset=utf-8", "abc"],
  ["; boundary=----WebKitFormBoundaryAbC123", "----WebKitFormBoundaryAbC123"],
  ['; boundary="a\'()+_,-./:=? b"', "a'()+_,-./:=? b"],
  [`; boundary=${"x".repeat(70)}`, "x".repeat(70)],
  ["; boundary=-", "-"],
  ["", null],
  ["; boundary", null],
  ["; boundary=", null],
  ['; boundary=""', null],
  ["; boundary=;", null],
  [`; boundary=${"x".repeat(71)}`, null],
  ['; boundary="a "', null],
  ['; boundary=" "', null],
  ['; boundary="abc', null],
  ['; boundary="a\\"b"', null],
  ["; boundary=a&b", null],
  ["; boundary=a*b", null],
  ["; boundary=é", null],
  ['; boundary="a\tb"', null],
  ["; xboundary=abc", null],
  ["; boundary=a; boundary=b", null],
  ["; boundary=a; boundary=a", null],
  ['; x="; boundary=a"; boundary=b', null],
];

for (const [parameters, boundary] of BOUNDARIES) {
  const outcome = boundary === null ? "names no boundary" : `names the boundary ${boundary}`;
  test(`the Content-Type multipart/form-data${parameters} ${outcome}`, () => {
    const type = `multipart/form-data${parameters}`;
    if (boundary !== null) return assert.equal(boundaryOf(type), boundary);
    assert.throws(() => boundaryOf(type), { name: "ParleyError", code: "malformed_body" });
  });
}
