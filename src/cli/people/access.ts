import { Parley, ParleyApiError, type ParleyOptions } from "../../../packages/parley-client/src/index.ts";
import { localUrl } from "../../config/settings.ts";
import { OperatorError } from "../../errors.ts";
import { parseOrigin } from "../../util/addresses.ts";
import type { Io } from "../io.ts";
import { asOperatorError } from "../system-errors.ts";
import { counted, harmless } from "../text.ts";
import { readLogin } from "./login-file.ts";

/** The exit code if the server refused the request. */
export const REFUSED = 1;

/** The server to use, and how to authenticate. */
export interface Access {
  url: string;
  token: string;
  /** The id of the user who is logged in; undefined without a login, or if it is one of version 0.1.0. */
  user_id?: string | undefined;
  /** What to do if the server does not accept the token. */
  hint: string;
}

/** Runs work on the server of the saved login or the environment, and returns the exit code. */
export async function asPerson(
  io: Io,
  work: (parley: Parley, access: Access) => Promise<number>,
): Promise<number> {
  const access = await readAccess(io);
  return withAccess(io, access, (parley) => work(parley, access));
}

/** Runs work on a server and returns the exit code. Explains each error and what to do. */
export async function withAccess(
  io: Io,
  access: Access,
  work: (parley: Parley) => Promise<number>,
): Promise<number> {
  try {
    return await work(toClient(io, access));
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    if (io.stop.aborted) throw new OperatorError("Stopped. The change in progress may have been made.");
    if (!(error instanceof ParleyApiError)) throw asOperatorError(error);
    if (!isRefusal(error)) throw new OperatorError(explain(error, access), { cause: error });
    io.warn(`parley: ${explain(error, access)}`);
    return REFUSED;
  }
}

export function toClient(io: Io, { url, token }: Access, options: Partial<ParleyOptions> = {}): Parley {
  const actAs = io.actAs === undefined ? undefined : `username:${io.actAs}`;
  return new Parley({ url, token, actAs, onWait: waitReporter(io), ...options });
}

/** Reports once that the server asked the client to wait. */
function waitReporter(io: Io): (ms: number, error: ParleyApiError) => void {
  let isReported = io.terminal === undefined;
  return (ms, { retryAfter }) => {
    if (isReported || retryAfter === undefined || ms < 1000) return;
    isReported = true;
    // This line may hold a progress bar.
    io.warn(
      `\r\u001b[KThe server asked for a pause. Retrying in ${counted(Math.round(ms / 1000), "second")}.`,
    );
  };
}

/** Reports whether the server refused the request, as opposed to failing or being unreachable. Includes rate limits. */
export function isRefusal({ status, code }: ParleyApiError): boolean {
  if (code === "unexpected_answer") return false;
  return (status >= 400 && status < 500) || code === "quota_exceeded";
}

/** Returns what went wrong and what to do. */
export function explain(error: ParleyApiError, access: Access): string {
  const { code, status, detail, members, requestId } = error;
  switch (code) {
    case "missing_token":
    case "invalid_token":
      return `${access.url} does not accept this token. ${access.hint}`;
    case "insufficient_scope":
      return harmless(`${detail} Log in with a token that has this scope: parley login ${access.url}`);
    case "contact_exists":
      return harmless(
        members.existing_id === undefined
          ? "You already have this contact."
          : `You already have this contact: ${members.existing_id}. See parley contacts list.`,
      );
    case "contact_not_found":
      return harmless(`${detail} List your contacts: parley contacts list`);
    case "conversation_not_found":
      return harmless(`${detail} List your conversations: parley conversations`);
    case "group_not_found":
      return harmless(`${detail} List your groups: parley groups list`);
    case "member_not_found":
      return harmless(`${detail} List the members: parley groups members GROUP`);
    case "attachment_not_found":
      return harmless(`${detail} List your files: parley attachments list`);
    case "connection_failed":
    case "timeout":
      return harmless(
        `${detail} Is a server running at ${access.url}? Set another with PARLEY_URL or parley login.`,
      );
    default:
      return harmless(status >= 500 && requestId ? `${detail} (Request ${requestId}.)` : detail);
  }
}

/** Reads URL and token: the environment takes precedence over the login. Throws `OperatorError` if there is no token. */
async function readAccess(io: Io): Promise<Access> {
  const login = await readLogin(io);
  const { PARLEY_URL, PARLEY_TOKEN } = io.env;
  const url = PARLEY_URL ? parseUrl("PARLEY_URL", PARLEY_URL) : (login?.url ?? localUrl(io.env));
  if (PARLEY_TOKEN) {
    const hint = "It comes from PARLEY_TOKEN. Set another, or unset it and log in.";
    return { url, token: parseToken("PARLEY_TOKEN", PARLEY_TOKEN), hint };
  }
  if (login === undefined)
    throw new OperatorError(
      "You are not logged in. Run parley login URL, or set PARLEY_URL and PARLEY_TOKEN.",
    );
  // Never send a token to another server: that server would learn it.
  if (url !== login.url) {
    const where = `You are logged in at ${login.url}, but PARLEY_URL is ${url}.`;
    throw new OperatorError(`${where} Set PARLEY_TOKEN too, or run parley login ${url}`);
  }
  return { ...login, hint: `Log in again: parley login ${url}` };
}

/** Returns the URL that `parley login` uses if it gets none. */
export function defaultUrl({ env }: Io): string {
  return env.PARLEY_URL || localUrl(env);
}

/** Normalizes a server's URL. `name` stands for it in the error. */
export function parseUrl(name: string, text: string): string {
  const url = parseOrigin(text);
  if (url !== undefined) return url;
  throw new OperatorError(
    `${name} must be a URL such as https://chat.example.com, without credentials, query or fragment.`,
  );
}

export function parseToken(name: string, text: string): string {
  const token = text.trim();
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new OperatorError(
    `${name} is not an access token. Create one on the server's machine: parley token create NAME`,
  );
}
