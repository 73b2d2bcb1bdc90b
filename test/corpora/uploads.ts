// Builds uploads from bytes, and checks what every download must satisfy.
import assert from "node:assert/strict";
import { type Answer, type Ask, type Fields, parsed, refused } from "./target.ts";

const BOUNDARY = "corpora";

/** Returns a form with one file. `disposition` follows the field's name and starts with a semicolon. */
export function fileForm(disposition: string, content: Uint8Array | string, type?: string) {
  const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"${disposition}\r\n${
    type === undefined ? "" : `Content-Type: ${type}\r\n`
  }\r\n`;
  return {
    headers: { "content-type": `multipart/form-data; boundary=${BOUNDARY}` },
    body: Buffer.concat([Buffer.from(head), Buffer.from(content), Buffer.from(`\r\n--${BOUNDARY}--\r\n`)]),
  };
}

export const quoted = (name: string) => `; filename="${name.replace(/[\\"]/g, "\\$&")}"`;

// Types that browsers execute: any HTML or XML, the names of JavaScript, and types of former plug-ins.
const RUN =
  /^(?:text\/(?:html|xml|xsl)|application\/(?:xml|hta|x-shockwave-flash|xhtml\+xml)|image\/svg\+xml|multipart\/x-mixed-replace|.*\+xml|(?:text|application)\/(?:x-)?(?:java|ecma|j|live|vb)script.*)$/;
export const isRun = (type: string) => RUN.test(type);
const SHOWN =
  /^(?:image\/(?:png|jpeg|gif|webp|avif|apng|bmp|x-icon)|audio\/.+|video\/.+|text\/plain|application\/pdf)$/;

const SEALED = "default-src 'none'; sandbox";
const PLAYED = "default-src 'none'; media-src 'self'; sandbox allow-same-origin";
/** The policies with which browsers may show a type. */
const POLICIES: Record<string, string> = {
  "application/pdf": "default-src 'none'",
  audio: PLAYED,
  video: PLAYED,
  image: "default-src 'none'; style-src 'unsafe-inline'; sandbox",
};

/** Downloads an uploaded file: its bytes and name are unchanged, and its type is none that browsers execute. */
export async function download(ask: Ask, made: Fields, content: Uint8Array | string): Promise<Answer> {
  const url = new URL(String(made.file_url));
  const answer = await ask("GET", url.pathname + url.search);
  const { status, headers, body } = answer;
  assert.equal(status, 200, body.toString());
  assert.ok(body.equals(Buffer.from(content)), "other bytes");
  const type = headers["content-type"]!.split(";", 1)[0]!;
  assert.equal(type, made.file_type);
  assert.doesNotMatch(type, RUN);
  assert.equal(headers["x-content-type-options"], "nosniff");
  assert.equal(headers["content-security-policy"], POLICIES[type] ?? POLICIES[type.split("/")[0]!] ?? SEALED);
  const disposition = headers["content-disposition"]!;
  assert.equal(/^inline(?:;|$)/.test(disposition), SHOWN.test(type), `${type} is ${disposition}`);
  assert.equal(nameIn(disposition), made.filename);
  return answer;
}

/** Returns the file name in a Content-Disposition (RFC 6266), the extended one if present. */
function nameIn(disposition: string): string {
  const extended = /;\s*filename\*=UTF-8''([^;\s]*)/i.exec(disposition);
  if (extended) return decodeURIComponent(extended[1]!);
  const plain = /;\s*filename=(?:"((?:[^"\\]|\\.)*)"|([^;\s]*))/.exec(disposition)!;
  return plain[2] ?? plain[1]!.replace(/\\(.)/g, "$1");
}

/** Returns the uploaded file, or undefined if it was refused. */
export async function upload(ask: Ask, form: ReturnType<typeof fileForm>): Promise<Fields | undefined> {
  const answer = await ask("POST", "/v1/attachments", form);
  if (answer.status !== 201) {
    refused(answer);
    return undefined;
  }
  return parsed(answer);
}
