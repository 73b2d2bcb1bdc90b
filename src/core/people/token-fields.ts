import { someOf } from "../resource/choices.ts";
import type { Field } from "../resource/fields.ts";
import { secondsOrNull } from "../resource/time-fields.ts";
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

/** In Unix seconds; null means never. */
export const expiresAt: Field<number | null, true> = {
  ...secondsOrNull,
  accepts: "a time in the future in whole Unix seconds, in JSON without quotes",
  fromText: (text) => (text === "" ? undefined : secondsOrNull.fromText!(text)),
};
