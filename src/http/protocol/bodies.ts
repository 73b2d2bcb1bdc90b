import type { FastifyRequest } from "fastify";
import { type Fields, TextFields } from "../../core/fields.ts";
import { type ErrorCode, ParleyError } from "../../errors.ts";
import { type BodyPace, readBody } from "./body-reader.ts";
import { checkDigest, digestOf } from "./digests.ts";

interface FieldLimits extends BodyPace {
  maxBodyBytes: number;
}

export const NO_FIELDS: Fields = new Map();

const PARSERS = new Map<string, (text: string) => Fields>([
  ["application/x-www-form-urlencoded", parseForm],
  ["application/json", parseJson],
]);

/** The fields of a request's body. Throws `unsupported_media_type` for a body of any other type. */
export async function bodyFields(request: FastifyRequest, limits: FieldLimits): Promise<Fields> {
  const header = request.headers["content-type"];
  if (header === undefined && isEmptyBody(request)) return NO_FIELDS;
  const parse = PARSERS.get(mediaType(header));
  const charset = /;\s*charset="?([^\s;"]+)/i.exec(header ?? "")?.[1] ?? "utf-8";
  if (!parse || !/^utf-?8$/i.test(charset)) {
    const types = [...PARSERS.keys()].join(" or ");
    throw new ParleyError("unsupported_media_type", `Send the body as ${types}, in UTF-8.`);
  }
  const bytes = await readBody(request.raw, limits.maxBodyBytes, limits);
  const announced = request.headers["content-digest"] as string | undefined;
  const digest = digestOf(announced);
  if (digest) checkDigest(announced, digest.update(bytes).digest());
  return parse(decodeUtf8(bytes));
}

// Only tabs and spaces may follow the type (RFC 9110, section 5.6.3), and nothing precedes it; `trim()` would remove more.
const MEDIA_TYPE = /^([^\s;]*)[ \t]*(?:;|$)/;

/** Type and subtype of a Content-Type, in lower case; empty if it is malformed. */
export function mediaType(header: string | undefined): string {
  return MEDIA_TYPE.exec(header ?? "")?.[1]?.toLowerCase() ?? "";
}

export function isEmptyBody(request: FastifyRequest): boolean {
  const { "content-length": length, "transfer-encoding": chunked } = request.headers;
  return (length === undefined || length === "0") && chunked === undefined;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Decodes UTF-8; throws `malformed_body` if the bytes are not valid. */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new ParleyError("malformed_body", "The body is not valid UTF-8.");
  }
}

/** Parses `application/x-www-form-urlencoded` text, as in bodies and queries. */
export function parseForm(text: string, malformed: ErrorCode = "malformed_body"): Fields {
  if (text === "") return NO_FIELDS;
  const fields = new TextFields();
  for (const pair of text.split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decodePart(equals === -1 ? pair : pair.slice(0, equals), malformed);
    addOnce(fields, name, equals === -1 ? "" : decodePart(pair.slice(equals + 1), malformed));
  }
  return fields;
}

/** Parses a JSON object. An empty body is an object without members: many clients send a Content-Type with every request. */
export function parseJson(text: string): Fields {
  if (text === "") return NO_FIELDS;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ParleyError("malformed_body", "The body is not valid JSON.");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ParleyError("malformed_body", "The body must be a JSON object.");
  }
  const fields = new Map(Object.entries(value));
  // Each name is followed by a colon; if there are no more of these than names, no name was sent twice.
  if ((text.match(/"\s*:/g)?.length ?? 0) !== fields.size) refuseRepeatedNames(text);
  return fields;
}

function decodePart(text: string, malformed: ErrorCode): string {
  if (!/[%+]/.test(text)) return text;
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw new ParleyError(malformed, "A percent-encoding is incomplete or not valid UTF-8.");
  }
}

function addOnce(fields: TextFields, name: string, value: string): void {
  if (fields.has(name)) throw repeated(name);
  fields.set(name, value);
}

export function repeated(name: string): ParleyError {
  return new ParleyError(
    "repeated_parameter",
    `${JSON.stringify(name)} was sent more than once. Send it once.`,
    {
      param: name,
    },
  );
}

/** Counts the names of valid JSON, because `JSON.parse` silently keeps the last of equal ones. */
function refuseRepeatedNames(json: string): void {
  const names = new Set<string>();
  let depth = 0;
  const tokens = json.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?|[{}[\]]/g);
  for (const [token, colon] of tokens) {
    if (token === "{" || token === "[") depth++;
    else if (token === "}" || token === "]") depth--;
    else if (colon !== undefined && depth === 1) {
      const name = JSON.parse(token.slice(0, -colon.length)) as string;
      if (names.has(name)) throw repeated(name);
      names.add(name);
    }
  }
}
