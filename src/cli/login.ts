import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { OperatorError } from "../errors.ts";
import { roundedSize } from "../util/sizes.ts";
import type { Io } from "./io.ts";
import { forgetLogin, keepLogin } from "./login-file.ts";
import { asPerson, defaultUrl, parseToken, parseUrl, withAccess } from "./session.ts";
import { harmless, isoTime, jsonLine } from "./text.ts";

/** Keeps an address and a token, once the server has taken it. */
export async function login(
  io: Io,
  address: string | undefined,
  options: { tokenStdin?: boolean; json?: boolean },
): Promise<number> {
  const url = parseUrl("URL", address ?? defaultUrl(io));
  if (isOpen(url))
    io.warn("The token and your files pass unencrypted: use an https address where there is one.");
  const token = parseToken("It", options.tokenStdin ? await text(io.input()) : await askToken(io));
  const mend = "Nothing was changed. A new one is made beside the server: parley token create NAME";
  return withAccess(io, { url, token, mend }, async (parley) => {
    const me = await parley.me({ signal: io.stop });
    await keepLogin(io, { url, token });
    if (options.json) io.print(jsonLine({ url, user: me }));
    else io.warn(`Logged in at ${url} as ${harmless(me.username)}.`);
    if (io.env.PARLEY_TOKEN)
      io.warn("PARLEY_TOKEN is set, and is used in place of this login until you unset it.");
    return 0;
  });
}

/** Whether somebody on the way could read along. */
function isOpen(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !/^(?:localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
}

/** Asks for the token, and shows nothing of it. */
function askToken(io: Io): Promise<string> {
  const input = io.input();
  if (!input.isTTY)
    throw new OperatorError("There is no terminal to ask for the token at: hand it in with --token-stdin.");
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output, terminal: true, historySize: 0, signal: io.stop });
  // Only now: from here on the terminal itself shows nothing of what is typed.
  io.warn("Access token (it is not shown):");
  return new Promise((resolve, reject) => {
    lines.once("line", (line) => {
      resolve(line);
      lines.close();
    });
    lines.once("SIGINT", () => io.interrupt());
    lines.once("close", () => reject(new OperatorError("No token was given, and nothing was changed.")));
  });
}

export async function logout(io: Io, options: { json?: boolean }): Promise<void> {
  const wasIn = await forgetLogin(io);
  if (options.json) return io.print(jsonLine({ logged_out: wasIn }));
  io.warn(
    wasIn
      ? "Logged out. The token itself holds until it is revoked: parley token revoke ID, beside the server."
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
    const lines: [string, string][] = [
      ["Server", url],
      ["Username", me.username],
      ["Name", me.display_name ?? ""],
      ["Phone", me.phone_number ?? ""],
      ["Id", me.id],
      ["Since", isoTime(me.created_at)],
      ["Stored", quota === null ? roundedSize(used) : `${roundedSize(used)} of ${roundedSize(quota)}`],
    ];
    for (const [name, value] of lines) if (value) io.print(`${name.padEnd(10)}${harmless(value)}`);
    return 0;
  });
}
