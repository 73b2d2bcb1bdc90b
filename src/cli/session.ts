import { Parley, ParleyApiError } from "../../client/src/index.ts";
import { OperatorError } from "../errors.ts";
import type { Io } from "./io.ts";
import { readLogin } from "./login-file.ts";
import { asOperatorError } from "./system-errors.ts";
import { counted, harmless } from "./text.ts";

/** The exit code of what the server refused. */
export const REFUSED = 1;
/** Where a server of this machine listens by default. */
const LOCAL = "http://127.0.0.1:8080";

/** How to reach a server. */
export interface Access {
  url: string;
  token: string;
  /** What to do where the server does not take the token. */
  mend: string;
}

/** Runs work on the server that the person is logged in at, and returns the exit code. */
export async function asPerson(
  io: Io,
  work: (parley: Parley, access: Access) => Promise<number>,
): Promise<number> {
  const access = await readAccess(io);
  return withAccess(io, access, (parley) => work(parley, access));
}

/** Runs work on a server and returns the exit code. What fails is told in words that say what to do. */
export async function withAccess(
  io: Io,
  access: Access,
  work: (parley: Parley) => Promise<number>,
): Promise<number> {
  try {
    return await work(new Parley({ ...access, onWait: waitTeller(io) }));
  } catch (error) {
    if (io.stop.aborted)
      throw new OperatorError("Stopped. A change that was under way may have been made all the same.");
    if (!(error instanceof ParleyApiError)) throw asOperatorError(error);
    if (!isRefusal(error)) throw new OperatorError(explain(error, access), { cause: error });
    io.warn(`parley: ${explain(error, access)}`);
    return REFUSED;
  }
}

/** Tells a person, once, that the server is what they wait for. */
function waitTeller(io: Io): (ms: number, error: ParleyApiError) => void {
  let isTold = !io.isTerminal;
  return (ms, { retryAfter }) => {
    if (isTold || retryAfter === undefined || ms < 1000) return;
    isTold = true;
    // There may be a bar in this line.
    io.warn(
      `\r\u001b[KThe server asks to wait ${counted(Math.round(ms / 1000), "second")}: it goes on by itself.`,
    );
  };
}

/** Whether the server has said no, for ever or, by a rate that was passed, for now. All else could not be asked or done. */
export function isRefusal({ status, code }: ParleyApiError): boolean {
  if (code === "unexpected_answer") return false;
  return (status >= 400 && status < 500) || code === "quota_exceeded";
}

/** What went wrong, and what to do about it. */
export function explain(error: ParleyApiError, access: Access): string {
  const { code, status, detail, members, requestId } = error;
  switch (code) {
    case "missing_token":
    case "invalid_token":
      return `${access.url} does not take this token. ${access.mend}`;
    case "insufficient_scope":
      return harmless(`${detail} Log in with a token that has it: parley login ${access.url}`);
    case "contact_exists":
      return harmless(
        `You have this contact already, as ${members.existing_id}. parley contacts list shows it.`,
      );
    case "contact_not_found":
      return harmless(`${detail} Yours are shown by: parley contacts list`);
    case "attachment_not_found":
      return harmless(`${detail} Yours are shown by: parley attachments list`);
    case "connection_failed":
    case "timeout":
      return harmless(
        `${detail} Does a server run at ${access.url}? PARLEY_URL or parley login name another.`,
      );
    default:
      return harmless(status >= 500 && requestId ? `${detail} (Request ${requestId}.)` : detail);
  }
}

/** Takes what the environment says before what the login says. Throws `OperatorError` where there is no token. */
async function readAccess(io: Io): Promise<Access> {
  const login = await readLogin(io);
  const { PARLEY_URL, PARLEY_TOKEN } = io.env;
  const url = PARLEY_URL ? parseUrl("PARLEY_URL", PARLEY_URL) : (login?.url ?? LOCAL);
  if (PARLEY_TOKEN) {
    const mend = "It is the one of PARLEY_TOKEN: set another, or unset it and log in.";
    return { url, token: parseToken("PARLEY_TOKEN", PARLEY_TOKEN), mend };
  }
  if (login === undefined)
    throw new OperatorError(
      "You are not logged in. Run parley login URL, or set PARLEY_URL and PARLEY_TOKEN.",
    );
  // A token is for the server that it was given for: another would learn it.
  if (url !== login.url) {
    const where = `You are logged in at ${login.url}, and PARLEY_URL is ${url}.`;
    throw new OperatorError(`${where} Set PARLEY_TOKEN too, or run parley login ${url}`);
  }
  return { ...login, mend: `Log in again: parley login ${url}` };
}

/** Where `parley login` logs in when it is not told. */
export function defaultUrl({ env }: Io): string {
  return env.PARLEY_URL || LOCAL;
}

/** A server's address as it is kept. `name` is what the person knows the text by. */
export function parseUrl(name: string, text: string): string {
  const url = URL.parse(text);
  const isUsable =
    (url?.protocol === "https:" || url?.protocol === "http:") &&
    !url.username &&
    !url.password &&
    !/[?#]/.test(text);
  if (!isUsable)
    throw new OperatorError(
      `${name} must be an address such as https://chat.example.com, without credentials, query and fragment.`,
    );
  return url.href.replace(/\/+$/, "");
}

export function parseToken(name: string, text: string): string {
  const token = text.trim();
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new OperatorError(
    `${name} must be an access token: parley token create NAME, run beside the server, makes one.`,
  );
}
