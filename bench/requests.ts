// Requests as they go over the wire.
import { randomBytes } from "node:crypto";

export const KIB = 1024;
export const MIB = 1024 * KIB;
export const JSON_TYPE = { "content-type": "application/json" };
export const FORM_TYPE = { "content-type": "multipart/form-data; boundary=b" };

/** How many there are at once of small requests. */
export const CONNECTIONS = 64;
/** How many contacts a list holds. */
export const PAGE = 10;

export const below = (limit: number) => Math.floor(Math.random() * limit);

type Headers = Readonly<Record<string, string>>;

function head(method: string, path: string, headers: Headers): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method} ${path} HTTP/1.1\r\nhost: bench\r\n${lines.join("")}\r\n`);
}

export function get(path: string, headers: Headers): Buffer[] {
  return [head("GET", path, headers)];
}

/** A small request is one packet; a large body is not copied. */
export function post(path: string, headers: Headers, body: Buffer): Buffer[] {
  const parts = [head("POST", path, { ...headers, "content-length": String(body.length) }), body];
  return body.length < MIB ? [Buffer.concat(parts)] : parts;
}

function contact(key: string, phone: string): Buffer {
  const fields = {
    username: `user ${key}`,
    phone_number: `+${phone}`,
    display_name: "Some Name",
    avatar_url: "https://example.com/avatars/1.png",
  };
  return Buffer.from(JSON.stringify(fields));
}

let created = 0;

/** A contact whose name and number come after all others in their indexes. */
export function ascendingContact(): Buffer {
  const number = String(++created).padStart(10, "0");
  return contact(`z${number}`, `99999${number}`);
}

/** A contact whose name and number fall anywhere in their indexes, so that each touches separate pages. */
export function randomContact(): Buffer {
  const bytes = randomBytes(6);
  return contact(bytes.toString("hex"), String(bytes.readUIntBE(0, 6)).padStart(15, "1"));
}

/** A form with one file of so many random bytes. */
export function form(size: number): Buffer {
  const disposition = 'content-disposition: form-data; name="file"; filename="photo.bin"';
  return Buffer.concat([
    Buffer.from(`--b\r\n${disposition}\r\ncontent-type: application/octet-stream\r\n\r\n`),
    randomBytes(size),
    Buffer.from("\r\n--b--\r\n"),
  ]);
}

const LETTERS = "etaoinshrdlu";

/** Words of which each is one of 1,728. */
export function twentyWords(): string {
  const letter = () => LETTERS[below(LETTERS.length)]!;
  return Array.from({ length: 20 }, () => `w${letter()}${letter()}${letter()}`).join(" ");
}
