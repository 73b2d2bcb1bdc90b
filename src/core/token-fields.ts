import { type Field, nullable } from "./fields.ts";
import { SCOPES, type Scope } from "./tokens.ts";

/** An array in JSON; in a form, which has none, a text with spaces between. */
export const scopes: Field<readonly Scope[], true> = {
  required: true,
  accepts: `one or more of ${SCOPES.join(", ")}: an array of strings, or one string with spaces between them`,
  schema: {
    type: ["array", "string"],
    items: { type: "string", enum: SCOPES },
    minItems: 1,
    minLength: 1,
  },
  parse(value) {
    const given: unknown[] = typeof value === "string" ? value.split(" ") : Array.isArray(value) ? value : [];
    const known = SCOPES.filter((scope) => given.includes(scope));
    return known.length > 0 && given.every((each) => known.includes(each as Scope)) ? known : undefined;
  },
};

/** The latest time that is accepted lies in the year 5138. */
const SECONDS = /^[0-9]{1,11}$/;

/** As Unix seconds; null: never. */
export const expiresAt = nullable<number, true>({
  required: true,
  accepts: "a time in the future in whole Unix seconds",
  schema: { type: "integer" },
  parse: (value) =>
    (typeof value === "number" || typeof value === "string") && SECONDS.test(String(value))
      ? Number(value)
      : undefined,
});
