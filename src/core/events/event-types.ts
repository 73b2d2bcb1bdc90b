import { RESOURCE_EVENTS } from "../../db/queries/events/events.ts";
import { ParleyError } from "../../errors.ts";
import type { Scope } from "../people/tokens.ts";
import { someOf } from "../resource/choices.ts";
import type { Field } from "../resource/fields.ts";
import { familyOf } from "./event-families.ts";

/** The event that somebody is typing. It is not stored, so only streams have it. */
export const TYPING = "typing";
const STREAM_EVENTS = [...RESOURCE_EVENTS, TYPING];

/** The types of events in a list or a stream. */
export const eventTypes: Field<string[], true> = {
  required: true,
  accepts: `one or more of ${STREAM_EVENTS.join(", ")}, separated by commas; ${TYPING} in streams only`,
  schema: { type: "string" },
  parse: (value) => someOf(STREAM_EVENTS, value),
};

/** Returns the scopes each of which shows events of this type; none if `events:read` does. */
function scopesFor(type: string): readonly Scope[] {
  return type === TYPING ? ["messages:read"] : (familyOf(type).scopes ?? []);
}

export function isShown(scopes: ReadonlySet<string>, type: string): boolean {
  const showing = scopesFor(type);
  return showing.length === 0 || showing.some((scope) => scopes.has(scope));
}

/**
 * Returns the types of events that a token with these scopes gets; undefined means all. Throws `insufficient_scope` if it
 * requests others.
 */
export function shownTypes(
  scopes: ReadonlySet<string>,
  requested: readonly string[] | undefined,
): readonly string[] | undefined {
  if (requested !== undefined) {
    requireShown(scopes, requested);
    return requested;
  }
  const shown = RESOURCE_EVENTS.filter((type) => isShown(scopes, type));
  return shown.length === RESOURCE_EVENTS.length ? undefined : shown;
}

/** Reports whether a stream of these types, or of all, shows who is typing. */
export function showsTyping(scopes: ReadonlySet<string>, requested: readonly string[] | undefined): boolean {
  return isShown(scopes, TYPING) && (requested?.includes(TYPING) ?? true);
}

/** Throws `insufficient_scope` if the token must not see events of one of these types. */
export function requireShown(scopes: ReadonlySet<string>, types: readonly string[]): void {
  const hidden = types.find((type) => !isShown(scopes, type));
  if (hidden === undefined) return;
  const showing = scopesFor(hidden);
  throw new ParleyError(
    "insufficient_scope",
    `Events of the type ${hidden} require a token with the scope ${showing.join(" or ")}.`,
    { header: showing[0]! },
  );
}

/** Returns the scopes that show events, separated by spaces. */
export function showingScopes(scopes: ReadonlySet<string>): string {
  const showing = new Set(RESOURCE_EVENTS.flatMap(scopesFor));
  return [...showing].filter((scope) => scopes.has(scope)).join(" ");
}
