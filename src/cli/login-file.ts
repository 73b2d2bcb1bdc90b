import { randomUUID } from "node:crypto";
import { chmod, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { OperatorError } from "../errors.ts";
import { syncFolder } from "../util/durable.ts";
import type { Io } from "./io.ts";
import { asOperatorError } from "./system-errors.ts";

/** Where somebody is logged in, and by what. */
interface Login {
  url: string;
  token: string;
}

function pathOf({ env }: Io): string {
  const { XDG_CONFIG_HOME: folder, HOME: home } = env;
  // The XDG specification has relative paths ignored.
  const base = folder && isAbsolute(folder) ? folder : join(home || homedir(), ".config");
  return join(base, "parley", "login.json");
}

/** Undefined where nobody is logged in. Throws `OperatorError` where the file cannot be used. */
export async function readLogin(io: Io): Promise<Login | undefined> {
  const path = pathOf(io);
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
    const { url, token } = JSON.parse(text);
    return typeof url === "string" && typeof token === "string" ? { url, token } : undefined;
  } catch {
    return undefined;
  }
}

/** Replaces what was kept, whole or not at all; readable by its owner alone. */
export async function keepLogin(io: Io, login: Login): Promise<void> {
  const path = pathOf(io);
  const partial = `${path}.${randomUUID()}.part`;
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    // It may have been there, and open to others.
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

/** False where there was none. */
export async function forgetLogin(io: Io): Promise<boolean> {
  try {
    await rm(pathOf(io));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw asOperatorError(error);
  }
}
