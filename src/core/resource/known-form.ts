import { type ErrorCode, ParleyError } from "../../errors.ts";
import { type IdKind, isId } from "../../util/ids.ts";

const NAMES: Readonly<Record<IdKind, string>> = {
  con: "a contact",
  att: "an attachment",
  avt: "a picture of a user",
  msg: "a message",
  cnv: "a conversation",
  grp: "a group",
  mem: "a member of a group",
  usr: "a user",
  tok: "a token",
  req: "a request",
  aud: "an audit entry",
  evt: "an event",
  whk: "a webhook",
  psh: "a push subscription",
  dlv: "a delivery",
  upl: "an upload",
};

/**
 * Returns the id. Throws the error of an unknown id if it is malformed. `param` is its field; for an id in a path it is left out,
 * so that the answer is the same as for any unknown id.
 */
export function knownForm(id: string, kind: IdKind, unknown: ErrorCode, param?: string): string {
  if (isId(kind, id)) return id;
  throw param === undefined
    ? new ParleyError(unknown)
    : new ParleyError(unknown, detailOf(id, kind), { param });
}

/** Explains the mistake if the id has the prefix of another kind. */
function detailOf(id: string, kind: IdKind): string | undefined {
  const other = Object.keys(NAMES).find((each) => id.startsWith(`${each}_`)) as IdKind | undefined;
  if (other === undefined || other === kind) return undefined;
  return `An id of ${NAMES[kind]} begins with ${kind}_; ${other}_ stands for ${NAMES[other]}.`;
}
