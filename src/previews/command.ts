import { existsSync, lstatSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { assetUrl, isOneFile } from "../assets.ts";
import { OperatorError } from "../errors.ts";

/** The first version of sharp without known vulnerabilities in its decoders. */
const LEAST_VERSION = [0, 35, 4];
const CHILD = fileURLToPath(new URL("./child.ts", import.meta.url));
const MODULES = fileURLToPath(assetUrl("node_modules"));
const PRLIMITS = ["/usr/bin/prlimit", "/bin/prlimit"];

/** CPU time of one process, for all its pictures. The process is replaced after half of it. */
export const CPU_SECONDS = 30;
/** Limits that the kernel enforces. Memory, not address space: V8 reserves far more addresses than it uses. */
const LIMITS = [`--cpu=${CPU_SECONDS}`, `--data=${2 * 1024 ** 3}`, "--nofile=64", "--fsize=0"];

/**
 * Returns the folders from which sharp and its dependencies are loaded. Throws `OperatorError` if sharp is missing or
 * too old. It is not a dependency of Parley, because few servers need it.
 */
export function findSharp(): string[] {
  if (isOneFile)
    throw new OperatorError(
      "PARLEY_PREVIEWS needs the package sharp, which cannot be part of one file. Unset it, or install Parley as a package: npm install parley-server sharp",
    );
  const folder = findFolder("sharp");
  const version =
    folder && (JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).version as string);
  if (!folder || !version || isOlder(version)) {
    const found = version ? `version ${version} is installed` : "it is not installed";
    throw new OperatorError(
      `PARLEY_PREVIEWS needs the package sharp, version ${LEAST_VERSION.join(".")} or newer, and ${found}. ` +
        "Install it beside Parley: npm install sharp",
    );
  }
  const modules = dirname(folder);
  return [folder, ...["@img", "detect-libc", "semver"].map((name) => join(modules, name))];
}

/** Returns the folder of an installed package; undefined if it is missing. */
function findFolder(name: string): string | undefined {
  let entry: string;
  try {
    entry = fileURLToPath(import.meta.resolve(name));
  } catch {
    return undefined;
  }
  const end = `/node_modules/${name}/`;
  return entry.slice(0, entry.lastIndexOf(end) + end.length - 1);
}

function isOlder(version: string): boolean {
  const parts = version.split(".").map((part) => Number.parseInt(part, 10));
  const different = LEAST_VERSION.findIndex((least, i) => parts[i] !== least);
  return different >= 0 && !(parts[different]! > LEAST_VERSION[different]!);
}

/**
 * Returns the command that starts a process that makes previews. Node's permissions let it read only its own code,
 * unless injected native code evades them. `isLimited`: whether this machine can set the kernel's limits.
 */
export function childCommand(readable: readonly string[]): { command: string[]; isLimited: boolean } {
  const prlimit = PRLIMITS.find((path) => existsSync(path));
  // Resolving a symlink reads the link itself, too.
  const linked = lstatSync(MODULES, { throwIfNoEntry: false })?.isSymbolicLink() ? [MODULES] : [];
  // The code of the package contains thumbhash.
  const thumbhash = findFolder("thumbhash") ?? dirname(CHILD);
  const folders = [...readable, thumbhash, ...linked, dirname(CHILD)];
  const node = [
    process.execPath,
    ...["--permission", "--allow-addons", "--no-warnings"],
    ...folders.map((folder) => `--allow-fs-read=${folder}`),
    CHILD,
  ];
  return {
    command: prlimit ? [prlimit, ...LIMITS, "--", ...node] : node,
    isLimited: prlimit !== undefined,
  };
}
