import { RESOURCE_EVENTS } from "../db/events.ts";
import { type Field, nullable } from "./fields.ts";

/** Yes or no: in JSON a boolean, in a form a word. */
export const yesOrNo: Field<boolean, true> = {
  required: true,
  accepts: "true or false",
  schema: { type: "boolean" },
  parse: (value) =>
    value === true || value === "true" ? true : value === false || value === "false" ? false : undefined,
};

/** An array in JSON; in a form, which has none, a text with spaces between. Null: all. */
export const hookEvents = nullable<string, true>({
  required: true,
  accepts: `one or more of ${RESOURCE_EVENTS.join(", ")}: an array of strings, or one string with spaces between them; null in JSON for all`,
  schema: {
    type: ["array", "string"],
    items: { type: "string", enum: [...RESOURCE_EVENTS] },
    minItems: 1,
    minLength: 1,
  },
  parse(value) {
    const given: unknown[] = typeof value === "string" ? value.split(" ") : Array.isArray(value) ? value : [];
    const known: readonly string[] = RESOURCE_EVENTS.filter((type) => given.includes(type));
    return known.length > 0 && given.every((each) => known.includes(each as string))
      ? known.join(" ")
      : undefined;
  },
});

const MAX_URL_CHARACTERS = 2048;

/** Whether the server may send there is checked behind this. */
export const hookUrl: Field<string, true> = {
  required: true,
  accepts: `an https URL of at most ${MAX_URL_CHARACTERS} characters with a public address, without credentials and without a fragment`,
  schema: { type: "string", format: "uri", maxLength: MAX_URL_CHARACTERS },
  parse(value) {
    if (typeof value !== "string" || value.length > MAX_URL_CHARACTERS || /[\s\p{Cc}]/u.test(value))
      return undefined;
    const url = URL.parse(value);
    if (!url || !/^https?:$/.test(url.protocol)) return undefined;
    return url.username || url.password || value.includes("#") ? undefined : url.href;
  },
};
