import { RESOURCE_EVENTS } from "../db/queries/events.ts";
import { ParleyError } from "../errors.ts";
import { type IdKind, idPattern, isId } from "../util/ids.ts";
import { cleanFilename, codePoints, FILENAME_ACCEPTS, isCleanText, phoneDigits } from "../util/text.ts";

/** The fields of a body or a query, each once. Values are strings, or what JSON has. */
export type Fields = ReadonlyMap<string, unknown>;

/** The fields of a form or a query, which have no type but text. */
export class TextFields extends Map<string, string> {}

/** One field of a body or a query: what is accepted, in words for the caller and as code. */
export interface Field<T, Required extends boolean = boolean> {
  required: Required;
  /** Ends the sentence "… must be". */
  accepts: string;
  /** The same as JSON Schema, as far as it can say it. */
  schema: JsonSchema;
  /** Undefined if the value is invalid. */
  parse(value: unknown): T | undefined;
  /** Converts the text of a form or a query to the value that JSON has, for `parse`. Without it the text is the value. */
  fromText?(text: string): unknown;
}

type JsonSchema = Readonly<Record<string, unknown>>;
export type Shape = Record<string, Field<unknown>>;

/** The parsed fields: required ones are there, others may be undefined. */
export type Parsed<S extends Shape> = {
  [K in keyof S as S[K] extends Field<unknown, true> ? K : never]: ParsedField<S[K]>;
} & {
  [K in keyof S as S[K] extends Field<unknown, true> ? never : K]?: ParsedField<S[K]> | undefined;
};
type ParsedField<F> = F extends Field<infer T> ? T : never;

/** Checks fields against a closed list. Throws on the first one that is unknown, missing or not accepted. */
export function readFields<S extends Shape>(shape: S, given: Fields): Parsed<S> {
  for (const name of given.keys()) {
    if (!Object.hasOwn(shape, name)) throw unknownField(name, Object.keys(shape));
  }
  const parsed: Record<string, unknown> = {};
  for (const name in shape) {
    const field = shape[name]!;
    if (given.has(name)) {
      const value = given.get(name);
      const fromText = given instanceof TextFields ? field.fromText : undefined;
      parsed[name] = readField(name, field, fromText ? fromText(value as string) : value);
    } else if (field.required) {
      throw new ParleyError("missing_parameter", `${name} is required. It must be ${field.accepts}.`, {
        param: name,
      });
    }
  }
  return parsed as Parsed<S>;
}

export function readField<T>(name: string, field: Field<T>, value: unknown): T {
  const parsed = field.parse(value);
  if (parsed === undefined) {
    throw new ParleyError("invalid_parameter", `${name} must be ${field.accepts}.`, { param: name });
  }
  return parsed;
}

export function unknownField(name: string, accepted: string[]): ParleyError {
  const list = accepted.length === 0 ? "No fields are accepted." : `Accepted fields: ${accepted.join(", ")}.`;
  return new ParleyError("unknown_parameter", `${JSON.stringify(name)} is unknown or read-only. ${list}`, {
    param: name,
  });
}

export function optional<T>(field: Field<T>): Field<T, false> {
  return { ...field, required: false };
}

/** The field with words about its purpose; without them its document says what it accepts. */
export function describedField<T, R extends boolean>(field: Field<T, R>, description: string): Field<T, R> {
  return { ...field, schema: { ...field.schema, description } };
}

/** A field that may also be `null` in JSON: none. */
export function nullable<T, R extends boolean>(field: Field<T, R>): Field<T | null, R> {
  return {
    ...field,
    schema: { ...field.schema, type: [field.schema.type, "null"].flat() },
    parse: (value) => (value === null ? null : field.parse(value)),
  };
}

function text<T>(
  accepts: string,
  schema: JsonSchema,
  parse: (text: string) => T | undefined,
): Field<T, true> {
  return {
    required: true,
    accepts,
    schema: { type: "string", ...schema },
    parse: (value) => (typeof value === "string" && isCleanText(value) ? parse(value) : undefined),
  };
}

function within(value: string, min: number, max: number): boolean {
  // A code point is one or two units of the string: mostly its length tells already.
  if (value.length >= 2 * min && value.length <= max) return true;
  const length = codePoints(value);
  return length >= min && length <= max;
}

export const username = text(
  "a string of 1 to 128 characters without control characters and without a space at either end",
  { minLength: 1, maxLength: 128 },
  (value) => (within(value, 1, 128) && value === value.trim() ? value : undefined),
);

/** A character that leaves a mark: a name without one looks like no name. */
const VISIBLE = /[^\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cf}\u2800]/u;

/** The username of what is created. Those that exist already may be invisible, and are found by `username`. */
export const newUsername: Field<string, true> = {
  ...username,
  accepts: `${username.accepts}, at least one of them visible`,
  parse(value) {
    const name = username.parse(value);
    return name !== undefined && VISIBLE.test(name) ? name : undefined;
  },
};

export const phoneNumber = text(
  "a string of 3 to 64 characters with at least 3 digits, without control characters",
  { minLength: 3, maxLength: 64 },
  (value) => (within(value, 3, 64) && phoneDigits(value).length >= 3 ? value : undefined),
);

/** An empty name is none. */
export const displayName = nullable(
  text("a string of 0 to 128 characters without control characters", { maxLength: 128 }, (value) =>
    within(value, 0, 128) ? value || null : undefined,
  ),
);

export const avatarUrl = nullable(
  text("an http or https URL of at most 2048 characters", { format: "iri", maxLength: 2048 }, (value) =>
    within(value, 1, 2048) && !/\s/.test(value) && /^https?:$/i.test(URL.parse(value)?.protocol ?? "")
      ? value
      : undefined,
  ),
);

export const filename: Field<string, true> = text(
  FILENAME_ACCEPTS,
  { minLength: 1, maxLength: 255 },
  (value) => cleanFilename(value) ?? undefined,
);

export const flag = text('"1"', { const: "1" }, (value) => (value === "1" ? true : undefined));

export const anyText = text("a string", {}, (value) => value);

/** An id that is only looked up: a malformed one is unknown. */
export function reference(kind: IdKind): Field<string, true> {
  return text(`an id (${kind}_…)`, { pattern: idPattern(kind) }, (value) => value);
}

/** The id of an item of the list as a place in it; the item itself may be gone. */
export function cursor(kind: IdKind): Field<string, true> {
  return text(`the id of an item in this list (${kind}_…)`, { pattern: idPattern(kind) }, (value) =>
    isId(kind, value) ? value : undefined,
  );
}

const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 100;

const limit = text(
  `a whole number from 1 to ${MAX_LIMIT}`,
  { type: "integer", minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT },
  (value) => (/^[1-9][0-9]{0,2}$/.test(value) && Number(value) <= MAX_LIMIT ? Number(value) : undefined),
);

/** A word to search by, as it is typed. */
export const searchWord = text(
  "a string of 0 to 128 characters without control characters",
  { maxLength: 128 },
  (value) => (within(value, 0, 128) ? value : undefined),
);

export const trueOrFalse = text('"true" or "false"', { type: "boolean" }, (value) =>
  value === "true" || value === "false" ? value === "true" : undefined,
);

/**
 * Reads one or more of the known names: an array in JSON, otherwise text with commas or spaces between. Undefined if one is
 * unknown.
 */
export function someOf<T extends string>(known: readonly T[], value: unknown): T[] | undefined {
  const given: unknown[] =
    typeof value === "string" ? value.trim().split(/\s*,\s*|\s+/) : Array.isArray(value) ? value : [];
  const found = known.filter((each) => given.includes(each));
  return found.length > 0 && given.every((each) => found.includes(each as T)) ? found : undefined;
}

export const eventTypes = text(
  `one or more of ${RESOURCE_EVENTS.join(", ")}, separated by commas`,
  {},
  (value) => someOf(RESOURCE_EVENTS, value),
);

/** The query of a list. */
export function pageFields(kind: IdKind) {
  return {
    limit: optional(limit),
    starting_after: optional(describedField(cursor(kind), `Returns items older than this one (${kind}_…).`)),
    ending_before: optional(describedField(cursor(kind), `Returns items newer than this one (${kind}_…).`)),
  };
}

/** What a page request needs besides its fields' own rules. */
export function toPageRequest<F extends Parsed<ReturnType<typeof pageFields>>>(
  fields: F,
): F & { limit: number } {
  if (fields.starting_after !== undefined && fields.ending_before !== undefined) {
    throw new ParleyError("invalid_parameter", "Send starting_after or ending_before, not both.", {
      param: "ending_before",
    });
  }
  return { ...fields, limit: fields.limit ?? DEFAULT_LIMIT };
}
