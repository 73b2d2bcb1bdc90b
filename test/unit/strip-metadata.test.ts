import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { orientationExif } from "../../src/core/files/picture-exif.ts";
import { MAX_TAKEN_BYTES } from "../../src/core/files/picture-parser.ts";
import { MetadataStripper } from "../../src/core/files/picture-strip.ts";
import { ParleyError } from "../../src/errors.ts";
import {
  chunkLengths,
  EOI,
  jpegFrame,
  jpegSegment,
  mutations,
  pngChunk,
  pngHeader,
  SOI,
  stripped,
  webp,
  webpChunk,
} from "../support/picture-bytes.ts";
import { decoded, picturesWithSecrets, plainPictures, secretsIn } from "../support/pictures.ts";
import { holds } from "../support/property.ts";

const secret = await picturesWithSecrets();
const plain = await plainPictures();
const text = (bytes: string) => Buffer.from(bytes, "latin1");
const isRefusal = (error: unknown) =>
  error instanceof ParleyError && error.code === "metadata_not_removable" && error.param === "strip_metadata";
const refused = (bytes: Uint8Array, what: string) => assert.throws(() => stripped(bytes), isRefusal, what);

test("a stripped picture has no secrets, and the same pixels, orientation and colour profile", async () => {
  for (const { name, bytes, orientation } of secret) {
    assert.deepEqual(secretsIn(bytes).sort(), ["XMP", "maker", "place", "serial number", "time"], name);
    const output = stripped(bytes);
    assert.deepEqual(secretsIn(output), [], name);
    const [before, after] = [await decoded(bytes), await decoded(output)];
    assert.ok(after.pixels.equals(before.pixels), name);
    assert.equal(after.orientation, orientation, name);
    assert.ok(before.icc && after.icc?.equals(before.icc), name);
  }
});

test("a picture without metadata stays unchanged", () => {
  for (const { name, bytes } of plain) assert.ok(stripped(bytes).equals(bytes), name);
});

test("stripping twice removes nothing more", () => {
  for (const { name, bytes } of secret) {
    const once = stripped(bytes);
    assert.ok(stripped(once).equals(once), name);
  }
});

test("bytes after the end of a picture are removed", () => {
  for (const { name, bytes } of [...secret, ...plain])
    assert.ok(stripped(Buffer.concat([bytes, Buffer.from("Secret"), bytes])).equals(stripped(bytes)), name);
});

test("the output does not depend on chunk lengths, and chunks may be reused", () =>
  holds(
    fc.property(fc.constantFrom(...secret, ...plain), chunkLengths, ({ bytes }, lengths) => {
      assert.ok(stripped(bytes, lengths).equals(stripped(bytes)));
    }),
  ));

test("a truncated picture is refused", () => {
  for (const { name, bytes } of [...secret.filter(({ orientation }) => orientation === 6), ...plain]) {
    for (let length = 0; length < bytes.length; length += length < 3000 ? 1 : 97)
      refused(bytes.subarray(0, length), `${name}, ${length} bytes`);
  }
});

test("other files are refused as such", () => {
  for (const other of [
    "",
    "x",
    "%PDF-1.7\n",
    "BM\x3a\0\0\0",
    "RIFF\x24\0\0\0WAVEfmt ",
    "\x89PNG\r\n\r\n",
    "GIF88a",
  ])
    refused(text(other), other);
  assert.throws(() => stripped(text("%PDF-1.7\n")), /JPEG, PNG, GIF and WebP only/);
  assert.throws(() => stripped(SOI), /damaged or incomplete/);
});

/** Asserts what each segment or chunk becomes. */
function becomes(
  whole: (part: Buffer) => Buffer,
  parts: [what: string, part: Buffer, becomes?: Buffer][],
): void {
  for (const [what, part, expected = Buffer.alloc(0)] of parts)
    assert.equal(stripped(whole(part)).toString("hex"), whole(expected).toString("hex"), what);
}

const SCAN = Buffer.concat([
  jpegSegment(0xda, "\x01\x01\0\0\x3f\0"),
  text("ab\xff\0\xff\xd0c\xff\xd7\xff\0"),
]);

test("a JPEG keeps only the segments needed to display it", () => {
  const exif = (tiff: Buffer) => jpegSegment(0xe1, Buffer.concat([text("Exif\0\0"), tiff]));
  const kept = [
    ...[0xc4, 0xdb, 0xdd, 0xdc].map((marker) => jpegSegment(marker, "table")),
    jpegSegment(0xe0, "JFIF\0\x01\x02\0\0\x01\0\x01\0\0"),
    jpegSegment(0xe2, "ICC_PROFILE\0\x01\x01profile"),
    jpegSegment(0xee, "Adobe\0\x64\0\0\0\0\x01"),
    exif(orientationExif(3)),
  ];
  const dropped = [
    ...Array.from({ length: 16 }, (_, n) => jpegSegment(0xe0 + n, "anything")),
    ...[0xe0, 0xe1, 0xe2, 0xed, 0xee, 0xfe].map((marker) => jpegSegment(marker)),
    jpegSegment(0xe0, "JFXX\0\x10"),
    jpegSegment(0xe1, "http://ns.adobe.com/xap/1.0/\0<x/>"),
    jpegSegment(0xe2, "MPF\0II*\0"),
    jpegSegment(0xe1, "ICC_PROFILE\0"),
    jpegSegment(0xe1, "Exif\0\0"),
    jpegSegment(0xed, "Photoshop 3.0\0"),
    jpegSegment(0xfe, "Adobe"),
    exif(orientationExif(1)),
    Buffer.alloc(3, 0xff),
  ];
  for (const whole of [
    (part: Buffer) => Buffer.concat([SOI, part, jpegFrame(1, 1), SCAN, EOI]),
    (part: Buffer) => Buffer.concat([SOI, jpegFrame(1, 1, 0xc2), SCAN, part, SCAN, EOI]),
    (part: Buffer) => Buffer.concat([SOI, jpegFrame(1, 1), SCAN, part, EOI]),
  ]) {
    becomes(whole, [
      ...kept.map((part): [string, Buffer, Buffer] => [part.toString("latin1"), part, part]),
      ...dropped.map((part): [string, Buffer] => [part.toString("latin1"), part]),
    ]);
  }
});

test("fill bytes between the pixels of a JPEG are removed and end no scan", () => {
  const whole = (pixels: string) => Buffer.concat([SOI, SCAN, text(pixels), EOI]);
  for (const lengths of [[1], [2], [1000]])
    assert.ok(
      stripped(whole("a\xff\xff\xff\0b\xff\xff\xd3c\xff\xff"), lengths).equals(whole("a\xff\0b\xff\xd3c")),
    );
});

test("only the first EXIF block of a JPEG or PNG sets its orientation", () => {
  const app = (orientation: number) =>
    jpegSegment(0xe1, Buffer.concat([text("Exif\0\0"), orientationExif(orientation)]));
  becomes(
    (part) => Buffer.concat([SOI, part, EOI]),
    [
      ["turned twice", Buffer.concat([app(6), app(8)]), app(6)],
      ["first not turned", Buffer.concat([app(1), app(8)])],
    ],
  );
  const chunk = (orientation: number) => pngChunk("eXIf", orientationExif(orientation));
  becomes(
    (part) => Buffer.concat([pngHeader(1, 1), part, pngChunk("IEND")]),
    [
      ["turned twice", Buffer.concat([chunk(6), chunk(8)]), chunk(6)],
      ["first not turned", Buffer.concat([chunk(1), chunk(8)])],
    ],
  );
});

test("a PNG keeps only the chunks needed to display it", () => {
  const kept =
    "PLTE IDAT tRNS cHRM gAMA iCCP sBIT sRGB cICP mDCV cLLI bKGD hIST pHYs sPLT acTL fcTL fdAT".split(" ");
  const dropped = "tEXt zTXt iTXt tIME eXIf caBX iDOT prVW oFFs vpAg zxIf".split(" ");
  for (const data of ["", "data", "x".repeat(70_000)].map(text))
    becomes(
      (part) => Buffer.concat([pngHeader(1, 1), part, pngChunk("IDAT", data), pngChunk("IEND")]),
      [
        ...kept.map((type): [string, Buffer, Buffer] => [type, pngChunk(type, data), pngChunk(type, data)]),
        ...dropped.map((type): [string, Buffer] => [type, pngChunk(type, data)]),
      ],
    );
});

test("an EXIF block of any size sets the orientation", () => {
  const large = Buffer.concat([orientationExif(7), Buffer.alloc(MAX_TAKEN_BYTES + 1, "Secret")]);
  const zeros = Buffer.concat([orientationExif(7), Buffer.alloc(MAX_TAKEN_BYTES + 1)]);
  becomes(
    (part) => Buffer.concat([pngHeader(1, 1), part, pngChunk("IEND")]),
    [["PNG", pngChunk("eXIf", large), pngChunk("eXIf", orientationExif(7))]],
  );
  becomes((part) => webp(part), [["WebP", webpChunk("EXIF", large), webpChunk("EXIF", zeros)]]);
});

test("a GIF keeps only the extensions needed to display it", () => {
  const blocks = (...parts: string[]) =>
    text(`${parts.map((part) => String.fromCharCode(part.length) + part).join("")}\0`);
  const extension = (label: number, ...parts: string[]) =>
    Buffer.concat([Buffer.from([0x21, label]), blocks(...parts)]);
  const image = Buffer.concat([
    text("\x2c\0\0\0\0\x01\0\x01\0\x81"),
    Buffer.alloc(12, 9),
    text("\x02"),
    blocks("x".repeat(255), "y"),
  ]);
  const kept = [
    extension(0xf9, "\x04\x01\0\0"),
    extension(0x01, "a grid of text", "text"),
    extension(0xff, "NETSCAPE2.0", "\x01\0\0"),
    extension(0xff, "ANIMEXTS1.0", "\x01\0\0"),
    image,
  ];
  const dropped = [
    extension(0xfe, "comment", "another"),
    extension(0xfe),
    extension(0xff, "XMP DataXMP", "<x/>"),
    extension(0xff, "NETSCAPE2.1", "\x01\0\0"),
    extension(0xff, "short"),
    extension(0xff),
    extension(0x77, "of no standard"),
  ];
  becomes(
    (part) => Buffer.concat([text("GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff"), part, image, text(";")]),
    [
      ...kept.map((part): [string, Buffer, Buffer] => [part.toString("latin1"), part, part]),
      ...dropped.map((part): [string, Buffer] => [part.toString("latin1"), part]),
    ],
  );
});

test("a WebP keeps only the chunks needed to display it, and zeroes the others", () => {
  const canvas = (flags: number) => webpChunk("VP8X", Buffer.from([flags, 0, 0, 0, 2, 0, 0, 3, 0, 0]));
  const kept = ["VP8 ", "VP8L", "ALPH", "ICCP", "ANIM"].map((type) => webpChunk(type, text("odd")));
  const dropped = ["XMP ", "JUNK", "abcd", "\0\0\0\0", "ANMG"];
  const frame = (part: Buffer) =>
    webpChunk("ANMF", Buffer.concat([Buffer.alloc(16, 1), part, webpChunk("VP8 ")]));
  const exif = Buffer.concat([
    text("Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x08\0\0\0"),
    text("Secret"),
  ]);
  const turned = Buffer.alloc(exif.length);
  orientationExif(8).copy(turned);
  for (const whole of [
    (part: Buffer) => webp(canvas(0x08), part, kept[0]!),
    (part: Buffer) => webp(frame(part)),
  ])
    becomes(whole, [
      ...kept.map((part): [string, Buffer, Buffer] => [part.toString("latin1"), part, part]),
      ...dropped.map((type): [string, Buffer, Buffer] => [
        type,
        webpChunk(type, text("Secrets")),
        webpChunk("JUNK", Buffer.alloc(7)),
      ]),
      ["turned", webpChunk("EXIF", exif), webpChunk("EXIF", turned)],
      [
        "EXIF of a few bytes",
        webpChunk("EXIF", text("Secret")),
        webpChunk("EXIF", orientationExif(1).subarray(0, 6)),
      ],
    ]);
  becomes((part) => webp(part), [["all flags", canvas(0x3e), canvas(0x3a)]]);
});

const MALFORMED: [what: string, bytes: Buffer][] = [
  ["a segment of length 0", Buffer.concat([SOI, text("\xff\xe1\0\0"), EOI])],
  ["a segment of length 1", Buffer.concat([SOI, text("\xff\xe1\0\x01"), EOI])],
  ["bytes between segments", Buffer.concat([SOI, jpegSegment(0xdb), text("x"), EOI])],
  ["bytes after a comment within a scan", Buffer.concat([SOI, SCAN, jpegSegment(0xfe), text("x"), EOI])],
  ["a second start", Buffer.concat([SOI, SOI, EOI])],
  ["a reserved marker", Buffer.concat([SOI, jpegSegment(0xf0), EOI])],
  ["a chunk larger than a PNG may have", Buffer.concat([pngHeader(1, 1), text("\x80\0\0\0IDAT")])],
  ["a chunk whose type is no word", Buffer.concat([pngHeader(1, 1), pngChunk("ID T"), pngChunk("IEND")])],
  ["a block of a GIF that is none", text("GIF89a\x01\0\x01\0\0\0\0\0;")],
  ["a RIFF of 3 bytes", text("RIFF\x03\0\0\0WEBP")],
  ["a chunk that is larger than its WebP", webp(webpChunk("VP8 ", Buffer.alloc(8)).fill(9, 4, 5))],
  ["half a header at the end of a WebP", webp(webpChunk("VP8 "), text("EXIF"))],
  ["a frame without its head", webp(webpChunk("ANMF", Buffer.alloc(15)))],
  [
    "a chunk that is larger than its frame",
    webp(webpChunk("ANMF", Buffer.concat([Buffer.alloc(16), text("VP8 \x08\0\0\0")])), webpChunk("EXIF")),
  ],
  ["a canvas of another size", webp(webpChunk("VP8X", Buffer.alloc(11)))],
];

for (const [what, bytes] of MALFORMED)
  test(`${what} is refused, because metadata could hide there`, () => {
    // Stop before the end, where half a picture would be refused.
    for (const length of [1, 1000]) {
      const stripper = new MetadataStripper();
      assert.throws(() => {
        for (let at = 0; at < bytes.length; at += length) stripper.push(bytes.subarray(at, at + length));
      }, isRefusal);
    }
  });

const ENDLESS: [what: string, head: Buffer, part: Buffer][] = [
  ["fill bytes", SOI, Buffer.from([0xff])],
  ["empty comments", SOI, jpegSegment(0xfe)],
  ["empty chunks of PNG", pngHeader(1, 1), pngChunk("tEXt")],
  ["empty comments of GIF", text("GIF89a\x01\0\x01\0\0\0\0"), text("\x21\xfe\0")],
  ["empty chunks of WebP", webp().fill(0xff, 4, 8), webpChunk("abcd")],
];

for (const [what, head, part] of ENDLESS)
  test(`more than 1 MiB of ${what} are refused`, () => {
    const flood = Buffer.alloc(65_536 * part.length, part);
    const stripper = new MetadataStripper();
    stripper.push(head);
    let pushed = 0;
    assert.throws(() => {
      for (; pushed < 4 * MAX_TAKEN_BYTES; pushed += flood.length) stripper.push(flood);
    }, isRefusal);
    assert.ok(pushed + flood.length >= MAX_TAKEN_BYTES, String(pushed));
  });

test("a picture of 64 MiB is streamed without being held in memory", () => {
  const stripper = new MetadataStripper();
  const chunk = Buffer.alloc(65_536, "\xff\0pixels", "latin1");
  stripper.push(Buffer.concat([SOI, SCAN]));
  for (let index = 0; index < 1024; index++) {
    const passed = stripper.push(chunk).reduce((sum, part) => sum + part.length, 0);
    assert.ok(Math.abs(passed - chunk.length) <= 2, String(passed));
  }
  assert.deepEqual(Buffer.concat(stripper.push(EOI)), EOI);
  stripper.end();
});

test("arbitrary bytes are refused or give a picture that stays the same when stripped again", () => {
  let passed = 0;
  const known = mutations([...secret, ...plain]);
  return holds(
    fc.property(
      fc.oneof({ weight: 4, arbitrary: known }, fc.uint8Array({ maxLength: 400 })),
      chunkLengths,
      (bytes, lengths) => {
        let output: Buffer;
        try {
          output = stripped(bytes, lengths);
        } catch (error) {
          assert.ok(isRefusal(error), String(error));
          return;
        }
        passed++;
        // The new orientation block may be larger than the original.
        assert.ok(output.length <= bytes.length + 20);
        assert.ok(stripped(output).equals(output));
      },
    ),
    3000,
  ).then(() => assert.ok(passed > 300, String(passed)));
});
