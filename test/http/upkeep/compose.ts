// compose.yaml as Compose reads it, and the `.env` that docs/scaling.md writes for it.
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { parse } from "yaml";

export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
export const sh = promisify(execFile);
export const textOf = (name: string) => readFile(join(ROOT, name), "utf8");

export interface Service {
  image: string;
  environment: Record<string, string>;
  volumes?: string[];
  configs?: { source: string }[];
  depends_on?: Record<string, { condition: string }>;
  healthcheck?: { test: string[] };
}

export interface Compose {
  services: Record<string, Service>;
  volumes: Record<string, null>;
  configs: Record<string, { content: string }>;
}

/** Substitutes variables like Compose. Throws the message of a required one that is missing. */
export function filledIn(text: string, env: Record<string, string>): Compose {
  const full = text.replace(/\$\{(\w+)(?:(:[?-])([^}]*))?\}/g, (_, name: string, kind, rest: string) => {
    if (env[name]) return env[name];
    if (kind === ":-") return rest;
    throw new Error(`${name}: ${rest}`);
  });
  return parse(full) as Compose;
}

/** Returns the `.env` that the commands of the page write. */
export async function documentedEnv(): Promise<Record<string, string>> {
  const page = await textOf("docs/scaling.md");
  const block = /^```sh\n(umask 077\n.*?)^```$/ms.exec(page)![1]!;
  const folder = await mkdtemp(join(tmpdir(), "parley-compose-"));
  try {
    await sh("bash", ["-euc", block], { cwd: folder });
    const lines = (await readFile(join(folder, ".env"), "utf8")).trim().split("\n");
    return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
