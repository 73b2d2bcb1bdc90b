import { hash } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { type Fields, type Shape, TextFields } from "../../core/resource/fields.ts";
import { type ErrorCode, ParleyError } from "../../errors.ts";
import { findRepeatedName } from "../../util/json.ts";
import { findSyntaxFault, toLineAndColumn } from "../../util/json-syntax.ts";
import { type BodyPace, hasBody, readBody } from "./body-reader.ts";
import { checkDigest, parseDigest } from "./digests.ts";

interface FieldLimits extends BodyPace {
  maxBodyBytes: number;
}

export const NO_FIELDS: Fields = new Map();

/** The names of list fields, which a form may have several times. */
export type Lists = ReadonlySet<string>;
export const NO_LISTS: Lists = new Set();

/** Returns the names of the list fields. */
export function listsOf(shape: Shape): Lists {
  return new Set(Object.keys(shape).filter((name) => shape[name]!.isList));
}

const PARSERS = new Map<string, (text: string, lists: Lists) => Fields>([
  ["application/x-www-form-urlencoded", parseFormBody],
  ["application/json", parseJson],
]);

/** Reads the fields of a request's body. Throws `unsupported_media_type` if it is neither JSON nor a form. */
export async function bodyFields(
  request: FastifyRequest,
  limits: FieldLimits,
  lists: Lists = NO_LISTS,
): Promise<Fields> {
  const header = request.headers["content-type"];
  if (header === undefined && !hasBody(request.raw)) return NO_FIELDS;
  const parse = PARSERS.get(mediaType(header));
  const charset = /;\s*charset="?([^\s;"]+)/i.exec(header ?? "")?.[1] ?? "utf-8";
  if (!parse || !/^utf-?8$/i.test(charset)) {
    const types = [...PARSERS.keys()].join(" or ");
    throw new ParleyError("unsupported_media_type", `Send the body as ${types}, in UTF-8.`);
  }
  const bytes = await readBody(request.raw, limits.maxBodyBytes, limits);
  const digest = parseDigest(request.headers["content-digest"] as string | undefined);
  if (digest) checkDigest(digest, hash("sha256", bytes, "buffer"));
  return parse(decodeUtf8(bytes), lists);
}

// Only tabs and spaces may follow the type (RFC 9110, section 5.6.3), and nothing may precede it. `trim()` removes more.
const MEDIA_TYPE = /^([^\s;]*)[ \t]*(?:;|$)/;

/** Returns type and subtype of a Content-Type, in lower case; empty if it is malformed. */
export function mediaType(header: string | undefined): string {
  return MEDIA_TYPE.exec(header ?? "")?.[1]?.toLowerCase() ?? "";
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

/** Parses a form. Explains the mistake if it is JSON, which curl's `-d` sends with the type of a form by default. */
function parseFormBody(text: string, lists: Lists): Fields {
  if (/^\s*{/.test(text)) {
    throw new ParleyError(
      "malformed_body",
      "The body looks like JSON. Send it with `Content-Type: application/json`.",
    );
  }
  return parseForm(text, "malformed_body", lists);
}

/** Parses `application/x-www-form-urlencoded` text, as in bodies and queries. */
export function parseForm(
  text: string,
  malformed: ErrorCode = "malformed_body",
  lists: Lists = NO_LISTS,
): Fields {
  const fields = new TextFields();
  for (const pair of text.split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decodePart(equals === -1 ? pair : pair.slice(0, equals), malformed);
    addField(fields, name, equals === -1 ? "" : decodePart(pair.slice(equals + 1), malformed), lists);
  }
  return fields;
}

/** Parses a JSON object. An empty body counts as `{}`, because many clients send a Content-Type with every request. */
export function parseJson(text: string): Fields {
  if (text === "") return NO_FIELDS;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ParleyError("malformed_body", faultOf(text));
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ParleyError("malformed_body", "The body must be a JSON object.");
  }
  const fields = new Map(Object.entries(value));
  // A colon follows each name. If there are no more such colons than names, no name was repeated.
  if ((text.match(/"\s*:/g)?.length ?? 0) !== fields.size) refuseRepeatedName(text);
  return fields;
}

function faultOf(json: string): string {
  const fault = findSyntaxFault(json);
  if (!fault) return "The body is not valid JSON.";
  return `The body is not valid JSON: expected ${fault.expected} at ${toLineAndColumn(json, fault.offset)}.`;
}

function decodePart(text: string, malformed: ErrorCode): string {
  if (!/[%+]/.test(text)) return text;
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw new ParleyError(malformed, "A percent-encoding is incomplete or not valid UTF-8.");
  }
}

/**
 * Adds a field of a form. A list whose only value is empty is an empty list. Throws `repeated_parameter` if a field that is not
 * a list is repeated.
 */
export function addField(fields: TextFields, name: string, value: string, lists: Lists): void {
  const earlier = fields.get(name);
  if (Array.isArray(earlier)) earlier.push(value);
  else if (earlier !== undefined) throw repeated(name);
  else fields.set(name, lists.has(name) ? (value === "" ? [] : [value]) : value);
}

/** Returns the error. `again` says where the field was repeated. */
export function repeated(name: string, again?: string): ParleyError {
  const where = again === undefined ? "" : `, ${again}`;
  const detail = `${JSON.stringify(name)} was sent more than once${where}. Send it once.`;
  return new ParleyError("repeated_parameter", detail, { param: name });
}

function refuseRepeatedName(json: string): void {
  const found = findRepeatedName(json);
  if (!found) return;
  const { name, inside, offset } = found;
  const again = `again at ${toLineAndColumn(json, offset)}`;
  if (inside === undefined) throw repeated(name, again);
  throw new ParleyError(
    "invalid_parameter",
    `${inside} has ${JSON.stringify(name)} twice in one object, ${again}. Send it once.`,
    { param: inside },
  );
}
