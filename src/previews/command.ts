import { existsSync, lstatSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { OperatorError } from "../errors.ts";

/** The first version of sharp without known holes in the decoders of pictures. */
const LEAST_VERSION = [0, 35, 4];
const CHILD = fileURLToPath(new URL("./child.ts", import.meta.url));
const MODULES = fileURLToPath(new URL("../../node_modules", import.meta.url));
const PRLIMITS = ["/usr/bin/prlimit", "/bin/prlimit"];

/** CPU time of one process, for all its pictures. It is replaced after half of it. */
export const CPU_SECONDS = 30;
/** What the kernel holds the process to. Memory, not addresses: of these V8 reserves as many as it may have. */
const LIMITS = [`--cpu=${CPU_SECONDS}`, `--data=${2 * 1024 ** 3}`, "--nofile=64", "--fsize=0"];

/**
 * Returns the folders from which sharp and its dependencies are loaded. Throws `OperatorError` if it is missing or too
 * old: it is no dependency, because few need it.
 */
export function findSharp(): string[] {
  const folder = folderOf("sharp");
  const version =
    folder && (JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).version as string);
  if (!folder || !version || isOlder(version)) {
    const found = version ? `version ${version} is installed` : "it is not installed";
    throw new OperatorError(
      `PARLEY_PREVIEWS needs the package sharp, version ${LEAST_VERSION.join(".")} or newer, and ${found}. ` +
        "In the folder of Parley run: npm install sharp",
    );
  }
  const modules = dirname(folder);
  return [folder, ...["@img", "detect-libc", "semver"].map((name) => join(modules, name))];
}

/** Returns the folder of an installed package; undefined if it is missing. */
function folderOf(name: string): string | undefined {
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
 * Returns what starts a process that makes previews. It may read the code that it runs, and nothing else, unless code of
 * its own gets hold of it. `isLimited`: whether this machine has what sets the limits of the kernel.
 */
export function childCommand(readable: readonly string[]): { command: string[]; isLimited: boolean } {
  const prlimit = PRLIMITS.find((path) => existsSync(path));
  // A link is read where it stands, too.
  const linked = lstatSync(MODULES, { throwIfNoEntry: false })?.isSymbolicLink() ? [MODULES] : [];
  const folders = [...readable, folderOf("thumbhash")!, ...linked, dirname(CHILD)];
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
