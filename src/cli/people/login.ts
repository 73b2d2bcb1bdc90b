import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { OperatorError } from "../../errors.ts";
import { isLoopback } from "../../util/addresses.ts";
import { roundedSize } from "../../util/sizes.ts";
import type { Io } from "../io.ts";
import { harmless, isoTime, jsonLine } from "../text.ts";
import { asPerson, defaultUrl, parseToken, parseUrl, withAccess } from "./access.ts";
import { eraseCopies } from "./copies.ts";
import { printFields } from "./listing.ts";
import { forgetLogin, keepLogin } from "./login-file.ts";

/** Saves a URL and a token once the server has accepted the token. */
export async function login(
  io: Io,
  address: string | undefined,
  options: { tokenStdin?: boolean; browser?: boolean; json?: boolean },
): Promise<number> {
  if (options.browser) return printLink(io, address, options);
  const url = parseUrl("The address", address ?? defaultUrl(io));
  if (isUnencrypted(new URL(url)))
    io.warn("Your token and files are sent unencrypted. Use an https URL if the server has one.");
  const token = parseToken("The input", options.tokenStdin ? await text(io.input()) : await askToken(io));
  const hint = "Nothing was changed. Create a new one on the server's machine: parley token create NAME";
  return withAccess(io, { url, token, hint }, async (parley) => {
    const me = await parley.me({ signal: io.stop });
    await keepLogin(io, { url, token, user_id: me.id });
    if (options.json) io.print(jsonLine({ url, user: me }));
    else io.warn(`Logged in at ${url} as ${harmless(me.username)}.`);
    if (io.env.PARLEY_TOKEN) io.warn("PARLEY_TOKEN is set and overrides this login until you unset it.");
    return 0;
  });
}

/** Prints a link that signs a browser in to the console with the saved login. */
async function printLink(
  io: Io,
  address: string | undefined,
  options: { tokenStdin?: boolean; json?: boolean },
): Promise<number> {
  if (address !== undefined || options.tokenStdin) {
    throw new OperatorError(
      "--browser uses your login. Log in first: parley login URL, then parley login --browser.",
    );
  }
  return asPerson(io, async (parley, { url, token }) => {
    // Explains a token that the server does not accept.
    await parley.me({ signal: io.stop });
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(`${url}/sign-in-link`, { method: "POST", headers, signal: io.stop });
    if (response.status !== 201) {
      throw new OperatorError(
        `${url} answered ${response.status} instead of creating a sign-in link. It may be busy or run an older Parley, or a proxy may block the path /sign-in-link.`,
      );
    }
    const { code, expires_in } = (await response.json()) as { code: string; expires_in: number };
    const link = `${url}/#sign-in=${code}`;
    if (options.json) io.print(jsonLine({ url: link, expires_in }));
    else {
      io.print(link);
      io.warn(`Open it within ${expires_in} seconds. Anyone who has it until then can sign in as you.`);
    }
    return 0;
  });
}

/** Reports whether others on the network can read the connection. */
function isUnencrypted({ protocol, hostname }: URL): boolean {
  return protocol === "http:" && !isLoopback(hostname);
}

/** Asks for the token without echoing it. */
function askToken(io: Io): Promise<string> {
  const input = io.input();
  if (!input.isTTY)
    throw new OperatorError(
      "There is no terminal to ask for the token. Pass it on standard input: --token-stdin.",
    );
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output, terminal: true, historySize: 0, signal: io.stop });
  // Printed only now, because the terminal no longer echoes input.
  io.warn("Access token (hidden):");
  return new Promise((resolve, reject) => {
    lines.once("line", (line) => {
      resolve(line);
      lines.close();
    });
    lines.once("SIGINT", () => io.interrupt());
    lines.once("close", () => reject(new OperatorError("No token was given. Nothing was changed.")));
  });
}

export async function logout(io: Io, options: { json?: boolean }): Promise<void> {
  const wasIn = await forgetLogin(io);
  await eraseCopies(io);
  if (options.json) return io.print(jsonLine({ logged_out: wasIn }));
  io.warn(
    wasIn
      ? "Logged out. The token stays valid until you revoke it on the server's machine: parley token revoke ID"
      : "You were not logged in.",
  );
}

export function whoami(io: Io, options: { json?: boolean }): Promise<number> {
  return asPerson(io, async (parley, { url }) => {
    const me = await parley.me({ signal: io.stop });
    if (options.json) {
      io.print(jsonLine({ url, user: me }));
      return 0;
    }
    const { used, quota } = me.storage;
    printFields(io, [
      ["Server", url],
      ["Username", me.username],
      ["Name", me.display_name ?? ""],
      ["Phone", me.phone_number ?? ""],
      ["Id", me.id],
      ["Since", isoTime(me.created_at)],
      ["Stored", quota === null ? roundedSize(used) : `${roundedSize(used)} of ${roundedSize(quota)}`],
    ]);
    return 0;
  });
}
