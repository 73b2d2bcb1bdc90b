// Pictures: the size that is read while they come in, and what is left of them when their metadata is removed.
import type { Mutant } from "./mutant.ts";

const SIZE = "src/core/files/picture-size.ts";
const PULL = "src/core/files/picture-parser.ts";
const STRIP = "src/core/files/picture-strip.ts";
const UPLOADS = "src/core/files/upload-once.ts";
const FORMS = "src/http/protocol/uploads.ts";

export const pictures: readonly Mutant[] = [
  {
    name: "pictures: the width of a JPEG is its height",
    file: SIZE,
    find: "toSize(frame.readUInt16BE(3), frame.readUInt16BE(1), orientation)",
    replace: "toSize(frame.readUInt16BE(1), frame.readUInt16BE(3), orientation)",
    tests: ["unit/picture-size"],
  },
  {
    name: "pictures: only baseline JPEGs have a size",
    file: SIZE,
    find: "return marker < 0xd0 && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;",
    replace: "return marker === 0xc0 || marker === 0xc1;",
    tests: ["unit/picture-size"],
  },
  {
    name: "pictures: orientation 5 is not a quarter turn",
    file: SIZE,
    find: "orientation >= 5",
    replace: "orientation > 5",
    tests: ["unit/picture-size"],
  },
  {
    name: "pictures: the orientation is always read as big-endian",
    file: "src/core/files/picture-exif.ts",
    find: "const value = data.getUint16(at + 8, isLittleEndian);",
    replace: "const value = data.getUint16(at + 8);",
    tests: ["unit/picture-size", "unit/strip-metadata"],
  },
  {
    name: "pictures: 0 pixels are a size",
    file: SIZE,
    find: "  if (width === 0 || height === 0) return null;\n",
    replace: "",
    tests: ["unit/picture-size", "corpora/pictures"],
  },
  {
    name: "pictures: a parser takes any number of bytes",
    file: PULL,
    find: '      if (step.kind === "take") this.#allowance -= step.bytes;\n',
    replace: "",
    tests: ["unit/picture-size", "unit/strip-metadata"],
  },
  {
    name: "pictures: bytes that were taken change with the chunk they came in",
    file: PULL,
    find: 'if (this.#kind === "take") bytes.copy(',
    replace:
      'if (this.#kind === "take" && count === this.#taken.length) this.#taken = bytes.subarray(at, at + count);\n      else if (this.#kind === "take") bytes.copy(',
    tests: ["unit/picture-size", "unit/strip-metadata"],
  },
  {
    name: "pictures: bytes after the end of a picture stay",
    file: PULL,
    find: "    return output;\n",
    replace: "    if (this.isDone) output.push(bytes.subarray(at));\n    return output;\n",
    tests: ["unit/strip-metadata", "http/files/pictures.all"],
  },
  {
    name: "pictures: the text of a PNG stays",
    file: STRIP,
    find: '"tRNS cHRM',
    replace: '"tEXt zTXt iTXt tRNS cHRM',
    tests: ["unit/strip-metadata"],
  },
  {
    name: "pictures: a PNG without metadata is no longer turned",
    file: STRIP,
    find: "      yield* emitPngOrientation(readOrientation(exif));\n",
    replace: "",
    tests: ["unit/strip-metadata"],
  },
  {
    name: "pictures: the marker alone says that a segment of a JPEG stays",
    file: STRIP,
    find: 'text.startsWith(JPEG_KEPT.get(marker) ?? "\\0none")',
    replace: "JPEG_KEPT.has(marker)",
    tests: ["unit/strip-metadata"],
  },
  {
    name: "pictures: the color profile of a JPEG is removed",
    file: STRIP,
    find: '  [JPEG.APP2, "ICC_PROFILE\\0"],\n',
    replace: "",
    tests: ["unit/strip-metadata"],
  },
  {
    name: "pictures: segments between the scans of a JPEG stay",
    file: STRIP,
    find: "if (!isPixel(code)) return code;",
    replace: "if (code === JPEG.EOI) return code;",
    tests: ["unit/strip-metadata"],
  },
  {
    name: "pictures: the EXIF block of a WebP stays behind the orientation",
    file: STRIP,
    find: "block.copy(exif.fill(0));",
    replace: "block.copy(exif);",
    tests: ["unit/strip-metadata"],
  },
  {
    name: "pictures: a WebP announces the XMP that was removed",
    file: STRIP,
    find: "    canvas[0]! &= ~WEBP_HAS_XMP;\n",
    replace: "",
    tests: ["unit/strip-metadata"],
  },
  {
    name: "pictures: half a picture without metadata is stored",
    file: STRIP,
    find: "    if (!this.#parser.isDone) refuse();\n",
    replace: "",
    tests: ["unit/strip-metadata", "corpora/pictures", "http/files/pictures.all"],
  },
  {
    name: "pictures: a replay is compared with its metadata",
    file: UPLOADS,
    find: "of this.#stripper ? ",
    replace: "of this.#stripper && !this.#isHashOnly ? ",
    tests: ["http/files/pictures.all"],
  },
  {
    name: "pictures: the digest of a file's part is compared without its metadata",
    file: FORMS,
    find: "upload.receivedSha256()",
    replace: "upload.sha256()",
    tests: ["http/files/pictures.all"],
  },
  {
    name: "pictures: strip_metadata after the file is ignored",
    file: FORMS,
    find: "        isLate ||= name === STRIP && hasFile;\n",
    replace: "",
    tests: ["http/files/pictures.all"],
  },
  {
    name: "pictures: large files bypass --strip-metadata",
    file: "src/cli/people/upload.ts",
    find: "isLarge(size) && !stripMetadata",
    replace: "isLarge(size)",
    tests: ["cli/strip-metadata"],
  },
  {
    name: "pictures: those of resumable uploads have no size",
    file: "src/core/files/upload-append.ts",
    find: "pictureSize: await this.#pictureSize(),",
    replace: "pictureSize: null,",
    tests: ["http/files/pictures.all"],
  },
  {
    name: "pictures: lists have image without include",
    file: "src/core/files/attachment-resource.ts",
    find: "  if (include === undefined) return (row, userId) => linked(core, row, userId);\n",
    replace: '  include ??= ["image"];\n',
    tests: ["http/files/pictures.all"],
  },
];
