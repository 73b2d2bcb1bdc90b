import { someOf } from "../resource/choices.ts";
import { type Field, textField } from "../resource/fields.ts";
import { secondsOrNull } from "../resource/time-fields.ts";
import { SCOPES, type Scope, TOKEN_FORM } from "./tokens.ts";

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

/** A token as requests send it. */
export const secret = textField(
  "a token: parley_ and 43 characters",
  { pattern: TOKEN_FORM.source },
  (value) => (TOKEN_FORM.test(value) ? value : undefined),
);
