import type { NamedUser } from "../../core/people/users.ts";
import { username } from "../../core/resource/fields.ts";
import { ParleyError } from "../../errors.ts";
import { isId } from "../../util/ids.ts";
import type { Requester } from "./client-address.ts";

/** The header by which the holder of a token with the scope `act_as` sends a request as another user. */
export const ACT_AS = "Parley-Act-As";
const KEY = ACT_AS.toLowerCase();
const BY_NAME = "username:";
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

/** Reports whether a request is to be done as another user. */
export function isActing({ headers }: Requester): boolean {
  return headers[KEY] !== undefined;
}

/**
 * Returns the user as whom a request is to be done. Throws `invalid_parameter` if the header is malformed, or if the request has
 * a session: a browser sends its cookie with requests that other sites cause.
 */
export function readActingUser({ headers }: Requester): NamedUser {
  if (headers.authorization === undefined) {
    throw invalid(`Send ${ACT_AS} with a token in the Authorization header. A session acts for nobody else.`);
  }
  const value = headers[KEY] as string;
  if (isId("usr", value)) return { id: value };
  const name = value.startsWith(BY_NAME) ? username.parse(decode(value.slice(BY_NAME.length))) : undefined;
  if (name !== undefined) return { username: name };
  throw invalid(
    `${ACT_AS} must be the id of a user (usr_…), or username: followed by a username with percent-encoding, as in username:Ad%C3%A8le.`,
  );
}

/** Decodes percent-encoded UTF-8. Undefined if it is malformed, or if a character other than visible ASCII is not encoded. */
function decode(text: string): string | undefined {
  if (!VISIBLE_ASCII.test(text)) return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function invalid(detail: string): ParleyError {
  return new ParleyError("invalid_parameter", detail, { param: ACT_AS });
}
