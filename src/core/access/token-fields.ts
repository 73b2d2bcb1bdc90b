import { type Field, nullable, someOf } from "../fields.ts";
import { SCOPES, type Scope } from "./tokens.ts";

export const scopes: Field<readonly Scope[], true> = {
  required: true,
  accepts: `one or more of ${SCOPES.join(", ")}: an array in JSON, or a string separated by commas`,
  schema: {
    type: ["array", "string"],
    items: { type: "string", enum: SCOPES },
    minItems: 1,
    minLength: 1,
  },
  parse: (value) => someOf(SCOPES, value),
};

/** The latest time that is accepted lies in the year 5138. */
const SECONDS = /^[0-9]{1,11}$/;

/** As Unix seconds; null: never. */
export const expiresAt = nullable<number, true>({
  required: true,
  accepts: "a time in the future in whole Unix seconds, in JSON without quotes",
  schema: { type: "integer" },
  parse: (value) => (typeof value === "number" && SECONDS.test(String(value)) ? value : undefined),
  fromText: (text) => (SECONDS.test(text) ? Number(text) : undefined),
});
