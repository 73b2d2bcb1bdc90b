/** How much of an EXIF block is searched. In a JPEG none is larger. */
export const MAX_EXIF_BYTES = 64 * 1024;
/** What precedes the block in a JPEG, and in some files of other formats. */
export const EXIF_NAME = "Exif\0\0";

const ORIENTATION = 0x0112;
const SHORT = 3;
const HEADER_BYTES = 8;
const ENTRY_BYTES = 12;

/** Returns the orientation, 1 to 8, from an EXIF block or its beginning. 1 means that the picture is not turned. */
export function readOrientation(exif: Buffer): number {
  const tiff = exif.toString("latin1", 0, EXIF_NAME.length) === EXIF_NAME ? exif.subarray(6) : exif;
  const mark = tiff.toString("latin1", 0, 4);
  const isLittleEndian = mark === "II*\0";
  if ((!isLittleEndian && mark !== "MM\0*") || tiff.length < HEADER_BYTES) return 1;
  const data = new DataView(tiff.buffer, tiff.byteOffset, tiff.byteLength);
  const directory = data.getUint32(4, isLittleEndian);
  if (directory < HEADER_BYTES || directory + 2 > tiff.length) return 1;
  let left = data.getUint16(directory, isLittleEndian);
  for (let at = directory + 2; left > 0 && at + ENTRY_BYTES <= tiff.length; at += ENTRY_BYTES, left--) {
    if (data.getUint16(at, isLittleEndian) !== ORIENTATION) continue;
    const type = data.getUint16(at + 2, isLittleEndian);
    const value = data.getUint16(at + 8, isLittleEndian);
    return type === SHORT && value >= 1 && value <= 8 ? value : 1;
  }
  return 1;
}

/** Returns an EXIF block that has only this orientation. */
export function orientationExif(orientation: number): Buffer {
  // The header, a directory of one entry, and no further directory.
  const tiff = Buffer.alloc(HEADER_BYTES + 2 + ENTRY_BYTES + 4);
  tiff.write("MM\0*", "latin1");
  tiff.writeUInt32BE(HEADER_BYTES, 4);
  tiff.writeUInt16BE(1, 8);
  tiff.writeUInt16BE(ORIENTATION, 10);
  tiff.writeUInt16BE(SHORT, 12);
  tiff.writeUInt32BE(1, 14);
  tiff.writeUInt16BE(orientation, 18);
  return tiff;
}
