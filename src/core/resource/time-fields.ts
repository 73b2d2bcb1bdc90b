import { type Field, nullable } from "./fields.ts";

/** The latest accepted time is in the year 5138. */
const SECONDS = /^[0-9]{1,11}$/;

/** A time in Unix seconds. */
export const seconds: Field<number, true> = {
  required: true,
  accepts: "a time in whole Unix seconds (not milliseconds)",
  schema: { type: "integer" },
  parse: (value) => (typeof value === "number" && SECONDS.test(String(value)) ? value : undefined),
  fromText: (text) => (SECONDS.test(text) ? Number(text) : undefined),
};

/** A time in Unix seconds, or null for none. In a form, null is an empty text. */
export const secondsOrNull = nullable<number | null, true>({
  ...seconds,
  accepts: `${seconds.accepts}, in JSON without quotes, or null`,
  fromText: (text) => (text === "" ? null : seconds.fromText!(text)),
});
