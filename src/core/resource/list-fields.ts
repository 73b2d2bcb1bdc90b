import { type IdKind, idPattern, isId } from "../../util/ids.ts";
import { type Field, newUsername, username } from "./fields.ts";

/** Ids that differ from each other. */
export function idList(kind: IdKind, what: string, limits: { minItems?: number; maxItems: number }) {
  const { minItems = 0, maxItems } = limits;
  const field: Field<readonly string[], true> = {
    required: true,
    isList: true,
    accepts: `${what} (${kind}_…): an array in JSON, a repeated field in a form`,
    schema: { type: "array", items: { type: "string", pattern: idPattern(kind) }, ...limits },
    parse(value) {
      if (!Array.isArray(value) || value.length < minItems || value.length > maxItems) return undefined;
      return value.every((each) => typeof each === "string" && isId(kind, each))
        ? [...new Set(value)]
        : undefined;
    },
  };
  return field;
}

const MAX_MENTIONS = 20;

export const mentions = idList("usr", `up to ${MAX_MENTIONS} ids of members of the conversation`, {
  maxItems: MAX_MENTIONS,
});

/** The maximum of the setting for members of a group. */
const MAX_MEMBERS = 1000;

/** Usernames, which may repeat. */
export const usernames: Field<readonly string[], true> = {
  required: true,
  isList: true,
  accepts: `up to ${MAX_MEMBERS} usernames: an array in JSON, a repeated field in a form`,
  schema: { type: "array", items: username.schema, maxItems: MAX_MEMBERS },
  parse(value) {
    if (!Array.isArray(value) || value.length > MAX_MEMBERS) return undefined;
    const names = value.map((each) => newUsername.parse(each));
    return names.every((name) => name !== undefined) ? names : undefined;
  },
  explain: (value) =>
    Array.isArray(value) ? value.map((each) => newUsername.explain?.(each)).find(Boolean) : undefined,
};
