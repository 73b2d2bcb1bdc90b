import type { Fields } from "../core/fields.ts";
import { type ErrorCode, ParleyError } from "../errors.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Decodes UTF-8; throws `malformed_body` where the bytes are none. */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new ParleyError("malformed_body", "The body is not valid UTF-8.");
  }
}

/** Parses `application/x-www-form-urlencoded` text, as in bodies and queries. */
export function parseForm(text: string, malformed: ErrorCode = "malformed_body"): Fields {
  const fields = new Map<string, unknown>();
  if (text === "") return fields;
  for (const pair of text.split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decodePart(equals === -1 ? pair : pair.slice(0, equals), malformed);
    addOnce(fields, name, equals === -1 ? "" : decodePart(pair.slice(equals + 1), malformed));
  }
  return fields;
}

/** Parses a JSON object. Nothing at all is an object without members: many clients name a type in every request. */
export function parseJson(text: string): Fields {
  if (text === "") return new Map();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ParleyError("malformed_body", "The body is not valid JSON.");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ParleyError("malformed_body", "The body must be a JSON object.");
  }
  refuseRepeatedNames(text);
  return new Map(Object.entries(value));
}

function decodePart(text: string, malformed: ErrorCode): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw new ParleyError(malformed, "A percent-encoding is incomplete, or is not valid UTF-8.");
  }
}

function addOnce(fields: Map<string, unknown>, name: string, value: unknown): void {
  if (fields.has(name)) throw repeated(name);
  fields.set(name, value);
}

export function repeated(name: string): ParleyError {
  return new ParleyError(
    "repeated_parameter",
    `${JSON.stringify(name)} was given more than once. Send it once.`,
    {
      param: name,
    },
  );
}

/** `JSON.parse` keeps the last of equal names without a word, so the names of valid JSON are counted here. */
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
