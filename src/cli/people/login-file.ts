import { randomUUID } from "node:crypto";
import { chmod, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { OperatorError } from "../../errors.ts";
import { syncFolder } from "../../util/durable.ts";
import type { Io } from "../io.ts";
import { asOperatorError } from "../system-errors.ts";

/** The server, the token and the user of a login. */
interface Login {
  url: string;
  token: string;
  /** Undefined if the login was saved by version 0.1.0. */
  user_id: string | undefined;
}

/** Returns the folder of the command line's own files. */
export function personalFolder({ env }: Io): string {
  const { XDG_CONFIG_HOME: folder, HOME: home } = env;
  // The XDG specification says to ignore relative paths.
  const base = folder && isAbsolute(folder) ? folder : join(home || homedir(), ".config");
  return join(base, "parley");
}

function loginPath(io: Io): string {
  return join(personalFolder(io), "login.json");
}

/** Returns the saved login, or undefined if there is none. Throws `OperatorError` if the file is unusable. */
export async function readLogin(io: Io): Promise<Login | undefined> {
  const path = loginPath(io);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw asOperatorError(error);
  }
  const login = parse(text);
  if (!login)
    throw new OperatorError(`${path} is damaged. Log in again: parley logout, then parley login URL.`);
  return login;
}

function parse(text: string): Login | undefined {
  try {
    const { url, token, user_id } = JSON.parse(text);
    if (typeof url !== "string" || typeof token !== "string") return undefined;
    return { url, token, user_id: typeof user_id === "string" ? user_id : undefined };
  } catch {
    return undefined;
  }
}

/** Saves the login atomically, readable by its owner only. */
export async function keepLogin(io: Io, login: Login): Promise<void> {
  const path = loginPath(io);
  const partial = `${path}.${randomUUID()}.part`;
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    // The folder may already exist with wider permissions.
    await chmod(dirname(path), 0o700);
    const file = await open(partial, "wx", 0o600);
    try {
      await file.writeFile(`${JSON.stringify(login)}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(partial, path);
    await syncFolder(dirname(path));
  } catch (error) {
    await rm(partial, { force: true }).catch(() => {});
    throw asOperatorError(error);
  }
}

/** Deletes the saved login. Returns false if there was none. */
export async function forgetLogin(io: Io): Promise<boolean> {
  try {
    await rm(loginPath(io));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw asOperatorError(error);
  }
}
