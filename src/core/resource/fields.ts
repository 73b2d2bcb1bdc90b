import { ParleyError } from "../../errors.ts";
import { type IdKind, idPattern, isId } from "../../util/ids.ts";
import { isStorable, parseStrictly } from "../../util/json.ts";
import {
  cleanFilename,
  codePoints,
  FILENAME_ACCEPTS,
  isCleanLines,
  isCleanText,
  isVisible,
  phoneDigits,
  searchWords,
  usernameKey,
} from "../../util/text.ts";
import { orNull } from "./schema.ts";

/** The fields of a body or a query, each once. Values are strings or JSON values. */
export type Fields = ReadonlyMap<string, unknown>;

/** The fields of a form or a query, which are all text. List fields have all their texts. */
export class TextFields extends Map<string, string | string[]> {}

/** One field of a body or a query: the accepted values, in words for the caller and as code. */
export interface Field<T, Required extends boolean = boolean> {
  required: Required;
  /** Ends the sentence "… must be". */
  accepts: string;
  /** The accepted values as JSON Schema, as far as it can express them. */
  schema: JsonSchema;
  /** Returns the parsed value; undefined if it is invalid. */
  parse(value: unknown): T | undefined;
  /** Returns a sentence about a common mistake, for an invalid value that has it. */
  explain?(value: unknown): string | undefined;
  /** Converts the text of a form or a query to the JSON value, for `parse`. Without it the text is the value. */
  fromText?(text: string): unknown;
  /** Set if the field is an array in JSON. In a form it may be repeated, and `parse` also gets an array. */
  isList?: true;
}

type JsonSchema = Readonly<Record<string, unknown>>;
export type Shape = Record<string, Field<unknown>>;

/** The parsed fields. Required ones are present, others may be undefined. */
export type Parsed<S extends Shape> = {
  [K in keyof S as S[K] extends Field<unknown, true> ? K : never]: ParsedField<S[K]>;
} & {
  [K in keyof S as S[K] extends Field<unknown, true> ? never : K]?: ParsedField<S[K]> | undefined;
};
type ParsedField<F> = F extends Field<infer T> ? T : never;

/** Checks fields against a closed list. Throws on the first one that is unknown, missing or not accepted. */
export function readFields<S extends Shape>(shape: S, given: Fields, where = ""): Parsed<S> {
  for (const name of given.keys()) {
    if (!Object.hasOwn(shape, name)) throw unknownField(name, Object.keys(shape), where);
  }
  const parsed: Record<string, unknown> = {};
  for (const name in shape) {
    const field = shape[name]!;
    if (given.has(name)) {
      const value = given.get(name);
      const fromText = given instanceof TextFields ? field.fromText : undefined;
      parsed[name] = readField(name, field, fromText ? fromText(value as string) : value);
    } else if (field.required) {
      throw missingField(name, field);
    }
  }
  return parsed as Parsed<S>;
}

export function missingField(name: string, { accepts }: Field<unknown>): ParleyError {
  return new ParleyError("missing_parameter", `${name} is required. It must be ${accepts}.`, { param: name });
}

/** Checks the fields of something new: in JSON null means that an optional one is absent. */
export function readNewFields<S extends Shape>(shape: S, given: Fields): Parsed<S> {
  const sent = given.entries().filter(([name, value]) => value !== null || !isAbsentIfNull(shape[name]));
  return readFields(shape, given.values().some((value) => value === null) ? new Map(sent) : given);
}

/** Nullable fields parse null themselves. */
function isAbsentIfNull(field: Field<unknown> | undefined): boolean {
  return field?.required === false && field.parse(null) === undefined;
}

export function readField<T>(name: string, field: Field<T>, value: unknown): T {
  const parsed = field.parse(value);
  if (parsed === undefined) {
    const mistake = field.explain?.(value);
    const detail = `${name} must be ${field.accepts}.${mistake === undefined ? "" : ` ${mistake}`}`;
    throw new ParleyError("invalid_parameter", detail, { param: name });
  }
  return parsed;
}

/** Returns the error. `where` is empty, or ends the words "fields are accepted". */
export function unknownField(name: string, accepted: string[], where = ""): ParleyError {
  const list =
    accepted.length === 0
      ? `No fields are accepted${where}.`
      : `Accepted fields${where}: ${accepted.join(", ")}.`;
  return new ParleyError("unknown_parameter", `${JSON.stringify(name)} is unknown or read-only. ${list}`, {
    param: name,
  });
}

export function optional<T>(field: Field<T>): Field<T, false> {
  return { ...field, required: false };
}

/** Returns the field with a description of its purpose. Without one, the document describes the accepted values. */
export function describedField<T, R extends boolean>(field: Field<T, R>, description: string): Field<T, R> {
  return { ...field, schema: { ...field.schema, description } };
}

/** Returns a field that may also be `null` in JSON, which means none. */
export function nullable<T, R extends boolean>(field: Field<T, R>): Field<T | null, R> {
  return {
    ...field,
    schema: orNull(field.schema),
    parse: (value) => (value === null ? null : field.parse(value)),
  };
}

/** A field of text without control characters. */
export function textField<T>(
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
  // A code point is one or two units of the string, so the length is usually enough to decide.
  if (value.length >= 2 * min && value.length <= max) return true;
  const length = codePoints(value);
  return length >= min && length <= max;
}

export const username = textField(
  "a string of 1 to 128 characters without control characters and without a space at either end",
  { minLength: 1, maxLength: 128 },
  (value) => (within(value, 1, 128) && value === value.trim() ? value : undefined),
);

/** The name of a group. Names of existing groups may be invisible. */
export const groupName: Field<string, true> = {
  ...username,
  accepts: `${username.accepts}, at least one of them visible`,
  parse(value) {
    const name = username.parse(value);
    return name !== undefined && isVisible(name) ? name : undefined;
  },
};

/** Explains what was probably meant by a text that is no username. */
function explainUsername(value: unknown): string | undefined {
  const name = username.parse(value);
  if (name === undefined) return undefined;
  if (isId("usr", name)) return `${name} is the id of a user: send the username, such as "ada".`;
  return usernameKey(name).startsWith("@") ? `Leave out the "@" of ${JSON.stringify(name)}.` : undefined;
}

/** Refuses what people send by mistake for a username. */
function refuseMistakes(field: Field<string, true>): Field<string, true> {
  return {
    ...field,
    accepts: `${field.accepts}, without "@" at the start, and not the id of a user (usr_…)`,
    parse: (value) => (explainUsername(value) === undefined ? field.parse(value) : undefined),
    explain: explainUsername,
  };
}

/** The username of something new. Existing usernames may have any form, and are looked up with `username`. */
export const newUsername = refuseMistakes({
  ...groupName,
  accepts: `${groupName.accepts}, not "." or ".."`,
  parse(value) {
    const name = groupName.parse(value);
    // Clients remove `.` and `..` from a path, such as that of a block.
    return name !== undefined && !/^\.{1,2}$/.test(usernameKey(name)) ? name : undefined;
  },
});

/** The username of a new block. Existing users may have any name, but "@" and an id would block nobody without a notice. */
export const blockedUsername = refuseMistakes(username);

export const phoneNumber: Field<string, true> = {
  ...textField(
    "a string of 3 to 64 characters with at least 3 digits, without control characters",
    { minLength: 3, maxLength: 64 },
    (value) => (within(value, 3, 64) && phoneDigits(value).length >= 3 ? value : undefined),
  ),
  // A leading space is a + that a client did not encode.
  fromText: (text) => text.replace(/^ (?=\p{Nd})/u, "+"),
};

/** A display name. An empty one is none. */
export const displayName = nullable(
  textField("a string of 0 to 128 characters without control characters", { maxLength: 128 }, (value) =>
    within(value, 0, 128) ? value || null : undefined,
  ),
);

/** The display name of a user, who may have a longer one from before. */
export const profileName = nullable(
  textField(
    "a string of 1 to 100 characters without control characters, at least one of them visible",
    { minLength: 1, maxLength: 100 },
    (value) => (within(value, 1, 100) && isVisible(value) ? value : undefined),
  ),
);

export const avatarUrl = nullable(
  textField("an http or https URL of at most 2048 characters", { format: "iri", maxLength: 2048 }, (value) =>
    within(value, 1, 2048) && !/\s/.test(value) && /^https?:$/i.test(URL.parse(value)?.protocol ?? "")
      ? value
      : undefined,
  ),
);

export const filename: Field<string, true> = textField(
  FILENAME_ACCEPTS,
  { minLength: 1, maxLength: 255 },
  (value) => cleanFilename(value) ?? undefined,
);

/** Text of several lines. An empty text is none. */
function lines(maxLength: number): Field<string | null, true> {
  return nullable<string | null, true>({
    required: true,
    accepts: `a string of 0 to ${maxLength} characters, well-formed and without control characters other than line feeds and tabs`,
    schema: { type: "string", maxLength },
    parse(value) {
      if (typeof value !== "string") return undefined;
      const text = value.replaceAll("\r\n", "\n");
      return within(text, 0, maxLength) && isCleanLines(text) ? text || null : undefined;
    },
  });
}

const anyLines = lines(10_000);

/** The text of a message. A text of invisible characters is none. */
export const longText: Field<string | null, true> = {
  ...anyLines,
  parse(value) {
    const text = anyLines.parse(value);
    return typeof text === "string" && !isVisible(text) ? null : text;
  },
};
export const description = lines(1000);

const MAX_DATA_BYTES = 4096;
const MAX_DATA_DEPTH = 16;

/** A JSON object for the caller's app, as compact JSON text. In a form it is JSON text, and an empty text is none. */
export const jsonObject: Field<string | null, true> = nullable<string | null, true>({
  required: true,
  accepts: `a JSON object (JSON text in a form) of at most ${MAX_DATA_BYTES} bytes and ${MAX_DATA_DEPTH} levels, with well-formed text without control characters other than line ends and tabs, no number beyond the range of a double, no name twice and no name __proto__`,
  schema: { type: "object" },
  fromText: (text) => (text === "" ? null : parseStrictly(text)),
  parse(value) {
    if (typeof value !== "object" || Array.isArray(value) || !isStorable(value, MAX_DATA_DEPTH))
      return undefined;
    const json = JSON.stringify(value);
    return Buffer.byteLength(json) <= MAX_DATA_BYTES ? json : undefined;
  },
});

const MAX_EMOJI_BYTES = 64;
/** Created at first use, because ICU takes some 20 ms to load its rules. */
let graphemes: Intl.Segmenter | undefined;

function countGraphemes(value: string): number {
  graphemes ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  return [...graphemes.segment(value)].length;
}

/** An emoji to react with. */
export const emoji = textField(
  `one visible character other than a full stop, such as an emoji, of at most ${MAX_EMOJI_BYTES} bytes of UTF-8`,
  { minLength: 1, maxLength: MAX_EMOJI_BYTES },
  (value) =>
    Buffer.byteLength(value) <= MAX_EMOJI_BYTES &&
    isVisible(value) &&
    // Clients remove it from a path.
    value !== "." &&
    countGraphemes(value) === 1
      ? value
      : undefined,
);

export const flag = textField('"1"', { const: "1" }, (value) => (value === "1" ? true : undefined));

export const anyText = textField("a string", {}, (value) => value);

const CLIENT_ID = /^[!-~]{1,64}$/;

/** An id that a client gives what it creates. */
export const clientId = textField(
  "a string of 1 to 64 visible ASCII characters, without spaces, such as a UUID",
  { pattern: CLIENT_ID.source },
  (value) => (CLIENT_ID.test(value) ? value : undefined),
);

/** An id that is only looked up, so a malformed one counts as unknown. */
export function reference(kind: IdKind): Field<string, true> {
  return textField(`an id (${kind}_…)`, { pattern: idPattern(kind) }, (value) => value);
}

/** Words to search messages by, as they are typed. */
export const searchWord = textField(
  "a string of 1 to 128 characters without control characters",
  { minLength: 1, maxLength: 128 },
  (value) => (within(value, 1, 128) ? value : undefined),
);

const MAX_NAME_LENGTH = 255;
const MAX_NAME_WORDS = 32;

/** Words to search names by, as they are typed. The longest name of a file fits. */
export const nameWords = textField(
  `a string of 0 to ${MAX_NAME_LENGTH} characters without control characters, at most ${MAX_NAME_WORDS} words`,
  { maxLength: MAX_NAME_LENGTH },
  (value) =>
    within(value, 0, MAX_NAME_LENGTH) && searchWords(value).length <= MAX_NAME_WORDS ? value : undefined,
);

export const trueOrFalse: Field<boolean, true> = {
  required: true,
  accepts: "true or false, in JSON without quotes",
  schema: { type: "boolean" },
  parse: (value) => (typeof value === "boolean" ? value : undefined),
  fromText: (text) => (text === "true" || text === "false" ? text === "true" : undefined),
};

const MAX_MESSAGE_LIMIT = 1_000_000;

/** Messages per minute; null stands for a default. */
export const messageLimit: Field<number | null, true> = nullable<number, true>({
  required: true,
  accepts: `a whole number from 0 to ${MAX_MESSAGE_LIMIT}, in JSON without quotes, or null`,
  schema: { type: "integer", minimum: 0, maximum: MAX_MESSAGE_LIMIT },
  parse: (value) =>
    Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MAX_MESSAGE_LIMIT
      ? (value as number)
      : undefined,
  fromText: (text) => (/^\d{1,7}$/.test(text) ? Number(text) : undefined),
});

/** One of these words. */
export function choice<T extends string>(...words: readonly T[]): Field<T, true> {
  return textField(words.map((word) => `"${word}"`).join(" or "), { enum: words }, (value) =>
    words.find((word) => word === value),
  );
}
