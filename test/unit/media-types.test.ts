import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { detectType } from "../../src/core/files/media-types.ts";
import { FILM, MP4_FILM, MP4_SOUND, SOUND } from "../support/media-bytes.ts";
import { holds } from "../support/property.ts";

const UNKNOWN = "application/octet-stream";
const NOTHING = new Uint8Array(0);
const bytes = (text: string) => Buffer.from(text, "latin1");

const HEADS: [what: string, head: Buffer, type: string][] = [
  [
    "PNG",
    bytes("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\0IDAT"),
    "image/png",
  ],
  ["JPEG", bytes("\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x48\0\x48\0\0"), "image/jpeg"],
  ["GIF", bytes("GIF89a\x01\0\x01\0\x80\0\0\xff\xff\xff\0\0\0"), "image/gif"],
  ["PDF", bytes("%PDF-1.7\n1 0 obj\n"), "application/pdf"],
  ["ZIP", bytes("PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0"), "application/zip"],
  ["Ogg with Opus", bytes(`OggS\0\x02${"\0".repeat(22)}OpusHead`), "audio/ogg"],
];

for (const [what, head, type] of HEADS) {
  for (const declared of [undefined, "text/html", "image/svg+xml", "text/plain", "image/webp", "nonsense"]) {
    test(`a file that starts like ${what} is ${type}, declared as ${declared ?? "nothing"}`, async () => {
      assert.equal(await detectType(head, declared, "a.html"), type);
      assert.equal(await detectType(head, declared, "a.mp3"), type);
    });
  }
}

/** Returns a ZIP whose first entry has this name and content. */
function zip(name: string, content: string): Buffer {
  const header = Buffer.alloc(30);
  header.writeUInt32LE(0x04034b50, 0);
  header.writeUInt16LE(20, 4);
  header.writeUInt32LE(content.length, 18);
  header.writeUInt32LE(content.length, 22);
  header.writeUInt16LE(name.length, 26);
  return Buffer.concat([header, bytes(name + content)]);
}

const OFFICE: [extension: string, type: string][] = [
  ["docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"],
  ["xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"],
  ["pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"],
];

for (const [extension, type] of OFFICE) {
  test(`an office file is ${type} by its name, its declared type and its bytes`, async () => {
    const plain = zip("a.bin", "x");
    for (const head of [NOTHING, plain]) {
      assert.equal(await detectType(head, undefined, `a.${extension}`), type);
      assert.equal(await detectType(head, type.toUpperCase(), "a"), type);
    }
    const content = `<Types><Override ContentType="${type}.main+xml"/></Types>`;
    assert.equal(await detectType(zip("[Content_Types].xml", content), "text/html", "a.html"), type);
  });
}

test("a ZIP stays a ZIP unless it is declared or named as a format based on ZIP", async () => {
  for (const said of ["image/png", "text/html", "text/plain", "application/json", "nonsense"]) {
    assert.equal(await detectType(zip("a.bin", "x"), said, "a"), "application/zip");
  }
  assert.equal(await detectType(zip("a.bin", "x"), undefined, "a.png"), "application/zip");
});

test("a ZIP declared as an XML format stays a ZIP", async () => {
  assert.equal(await detectType(zip("a.bin", "x"), "application/vnd.mozilla.xul+xml", "a"), UNKNOWN);
});

test("text is not mistaken for a binary format because of its first letters", async () => {
  for (const text of [
    "BM is short for a bitmap.",
    "MZ was an engineer of long ago.",
    "ID3 is a tag in music files.",
  ]) {
    assert.equal(await detectType(bytes(text), undefined, "a.txt"), "text/plain");
    assert.equal(await detectType(bytes(text), "text/csv", "a"), "text/csv");
  }
});

test("a file of a few bytes has its declared type", async () => {
  assert.equal(await detectType(bytes("BM"), "text/plain", "a"), "text/plain");
  assert.equal(await detectType(bytes("<?xml ?><a/>"), "image/svg+xml", "a.svg"), UNKNOWN);
});

const MARKUP = [
  '<?xml version="1.0"?><a/>',
  '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
  '\xef\xbb\xbf<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>',
];

for (const markup of MARKUP) {
  test(`a file that starts with ${JSON.stringify(markup.slice(0, 40))} is ${UNKNOWN}, whatever its name and declared type`, async () => {
    for (const declared of [undefined, "text/plain", "image/png", "image/svg+xml"]) {
      assert.equal(await detectType(bytes(markup), declared, "a.png"), UNKNOWN);
    }
  });
}

// The essences of the WHATWG MIME Sniffing standard, section 4.6.
const JAVASCRIPT = [
  "application/ecmascript",
  "application/javascript",
  "application/x-ecmascript",
  "application/x-javascript",
  "text/ecmascript",
  "text/javascript",
  "text/javascript1.0",
  "text/javascript1.1",
  "text/javascript1.2",
  "text/javascript1.3",
  "text/javascript1.4",
  "text/javascript1.5",
  "text/jscript",
  "text/livescript",
  "text/x-ecmascript",
  "text/x-javascript",
];

const RUN_BY_BROWSERS = [
  ...JAVASCRIPT,
  "text/html",
  "text/xml",
  "application/xml",
  "application/xhtml+xml",
  "image/svg+xml",
  "application/rss+xml",
  "application/mathml+xml",
  "x/y+xml",
  "text/xsl",
];

for (const type of RUN_BY_BROWSERS) {
  test(`a file declared as ${type} in any spelling is ${UNKNOWN}`, async () => {
    for (const declared of [
      type,
      type.toUpperCase(),
      ` ${type}\t`,
      `${type};charset=utf-8`,
      `${type} ; a="b;c"`,
    ]) {
      assert.equal(await detectType(NOTHING, declared, "a.txt"), UNKNOWN, declared);
    }
  });
}

const RUN_EXTENSIONS = "html htm shtml xhtml xht svg svgz xml xsl xslt rss atom rdf mathml js mjs".split(" ");

for (const extension of RUN_EXTENSIONS) {
  test(`an unknown file named .${extension} is ${UNKNOWN}`, async () => {
    for (const name of [`a.${extension}`, `a.${extension.toUpperCase()}`, `a.txt.${extension}`]) {
      assert.equal(await detectType(NOTHING, undefined, name), UNKNOWN, name);
      assert.equal(await detectType(NOTHING, UNKNOWN, name), UNKNOWN, name);
    }
  });
}

const HARMLESS: [declared: string, type: string][] = [
  ["text/plain", "text/plain"],
  ["Text/PLAIN; charset=ISO-8859-1", "text/plain"],
  [" text/csv ", "text/csv"],
  ["text/css", "text/css"],
  ["application/json", "application/json"],
  ["application/vnd.oasis.opendocument.text", "application/vnd.oasis.opendocument.text"],
  ["application/x-custom_type!#$&^.+-", "application/x-custom_type!#$&^.+-"],
  ["3d/x", "3d/x"],
  [`${"a".repeat(127)}/${"b".repeat(127)}`, `${"a".repeat(127)}/${"b".repeat(127)}`],
];

for (const [declared, type] of HARMLESS) {
  test(`a declared type ${JSON.stringify(declared.slice(0, 60))} is stored in lower case without parameters`, async () =>
    assert.equal(await detectType(bytes("plain"), declared, "a.pdf"), type));
}

const MALFORMED = [
  "",
  " ",
  ";",
  "text",
  "text/",
  "/plain",
  "text//plain",
  "text/plain/x",
  "te xt/plain",
  "text /plain",
];
const ODD = [
  "*/*",
  "text/*",
  "tëxt/plain",
  "text/pl@in",
  "-x/y",
  "x/-y",
  "text/plain, text/csv",
  "text\n/plain",
];

for (const declared of [...MALFORMED, ...ODD, `text/${"x".repeat(128)}`, `${"x".repeat(128)}/x`]) {
  test(`a malformed declared type ${JSON.stringify(declared.slice(0, 60))} is ignored`, async () => {
    assert.equal(await detectType(NOTHING, declared, "a.csv"), "text/csv");
    assert.equal(await detectType(NOTHING, declared, "a"), UNKNOWN);
  });
}

const BY_NAME: [filename: string, type: string][] = [
  ["a.txt", "text/plain"],
  ["A.TXT", "text/plain"],
  ["a.html.txt", "text/plain"],
  ["日本語.pdf", "application/pdf"],
  ["a.b.png", "image/png"],
  ["a.mp3", "audio/mpeg"],
  ["a.mp4", "video/mp4"],
  ["a.tar.gz", "application/gzip"],
  ["a.", UNKNOWN],
  ["a.nosuchextension", UNKNOWN],
  ["a.constructor", UNKNOWN],
  ["no extension", UNKNOWN],
  ["constructor", UNKNOWN],
];

for (const [filename, type] of BY_NAME) {
  test(`an unknown file named ${filename} is ${type}`, async () => {
    for (const declared of [undefined, UNKNOWN, "Application/Octet-Stream; a=b"]) {
      assert.equal(await detectType(NOTHING, declared, filename), type);
    }
  });
}

const heads = fc.oneof(
  fc.constant(Buffer.alloc(0)),
  fc
    .tuple(
      fc.constantFrom(...HEADS.map(([, head]) => head), ...MARKUP.map(bytes)),
      fc.uint8Array({ maxLength: 60 }),
    )
    .map(([head, more]) => Buffer.concat([head, more])),
  fc.uint8Array({ maxLength: 60 }).map((each) => Buffer.from(each)),
);
const word = fc.stringMatching(/^[a-zA-Z0-9][a-zA-Z0-9.+-]{0,8}$/);
const declarations = fc.oneof(
  fc.constant(undefined),
  fc.constantFrom(...RUN_BY_BROWSERS),
  fc
    .tuple(word, word, fc.constantFrom("", "+xml", "+XML"))
    .map(([type, sub, suffix]) => `${type}/${sub}${suffix}`),
  fc.string(),
);
const filenames = fc.oneof(
  fc.constantFrom(...RUN_EXTENSIONS).map((each) => `a.${each}`),
  fc.string({ unit: "grapheme" }),
);

test("any bytes, declared type and name result in a well-formed type that browsers do not run", () =>
  holds(
    fc.asyncProperty(heads, declarations, filenames, async (head, declared, filename) => {
      const type = await detectType(head, declared, filename);
      assert.match(type, /^[a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*$/);
      assert.ok(!RUN_BY_BROWSERS.includes(type) && !type.endsWith("+xml"), type);
    }),
    2000,
  ));

test("an office document has its declared or named type if the bytes show only the container", async () => {
  const zip = Buffer.concat([Buffer.from("PK\x03\x04"), Buffer.alloc(60)]);
  const docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
  assert.equal(await detectType(zip, docx, "a.bin"), docx);
  assert.equal(await detectType(zip, undefined, "a.docx"), docx);
  assert.equal(await detectType(zip, "image/png", "a.docx"), "application/zip");
  assert.equal(await detectType(Buffer.from("x"), docx, "a.docx"), docx);
});

test("text that starts like a binary format is text", async () => {
  for (const text of ["BMW is a car maker", "MZ hello text", "ID3 tags explained", "GIF is a format"]) {
    assert.equal(await detectType(Buffer.from(text), "text/plain", "a.txt"), "text/plain", text);
  }
  assert.equal(await detectType(Buffer.from([0, 1]), undefined, "a"), "application/octet-stream");
});

/** Returns the bytes with another MP4 brand. */
function branded(mp4: Buffer, brand: string): Buffer {
  return Buffer.concat([mp4.subarray(0, 8), bytes(brand), mp4.subarray(12)]);
}

const RECORDINGS: [what: string, sound: Buffer, film: Buffer, subtype: string][] = [
  ["WebM", SOUND, FILM, "webm"],
  ["MP4", MP4_SOUND, MP4_FILM, "mp4"],
  ["3GPP", branded(MP4_SOUND, "3gp4"), branded(MP4_FILM, "3gp4"), "3gpp"],
  ["3GPP2", branded(MP4_SOUND, "3g2a"), branded(MP4_FILM, "3g2a"), "3gpp2"],
];

for (const [what, sound, film, subtype] of RECORDINGS) {
  test(`a recording in ${what} declared as audio is audio, unless it has a video track`, async () => {
    for (const declared of [`audio/${subtype}`, `Audio/${subtype};codecs=opus`, "audio/x-own"]) {
      assert.equal(await detectType(sound, declared, "a"), `audio/${subtype}`);
      assert.equal(await detectType(film, declared, "a"), `video/${subtype}`);
    }
    for (const declared of [undefined, `video/${subtype}`, "text/plain"])
      assert.equal(await detectType(sound, declared, "a"), `video/${subtype}`);
    assert.equal(await detectType(sound, undefined, "a.m4a"), `audio/${subtype}`);
    assert.equal(await detectType(film, undefined, "a.m4a"), `video/${subtype}`);
  });
}

test("text is never audio, video, a picture or a font", async () => {
  const code = bytes("export const GREETING = 'hello';\n");
  for (const name of ["a.ts", "a.mts", "a.m2ts", "a.mp3", "a.png", "a.woff"])
    assert.equal(await detectType(code, undefined, name), "text/plain", name);
  for (const declared of ["video/mp2t", "audio/mpeg", "image/png", "video/vnd.dlna.mpeg-tts"])
    assert.equal(await detectType(code, declared, "a"), "text/plain", declared);
  for (const declared of ["image/svg+xml", "video/x+xml"])
    assert.equal(await detectType(code, declared, "a.ts"), UNKNOWN, declared);
  const stream = Buffer.concat([Buffer.from([0x47, 0x40, 0x11, 0x10]), Buffer.alloc(184, 0xff)]);
  assert.equal(await detectType(Buffer.concat([stream, stream]), undefined, "a.ts"), "video/mp2t");
  assert.equal(await detectType(NOTHING, "audio/mpeg", "a"), "audio/mpeg");
});
