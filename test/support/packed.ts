// The packages as an app gets them: packed, installed into a new project, and compiled there.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

export const run = promisify(execFile);
export const ROOT = join(import.meta.dirname, "../..");

/** Compiler settings of projects for Node and for browsers. */
export const IN_NODE = [
  ...["--module", "nodenext", "--lib", "esnext"],
  ...["--typeRoots", join(ROOT, "node_modules/@types"), "--types", "node"],
];
export const IN_BROWSERS = [
  ...["--module", "esnext", "--moduleResolution", "bundler"],
  ...["--lib", "esnext,dom", "--types", ""],
];

export interface Project {
  folder: string;
  /** The files in the archive of each package. */
  packed: Record<string, string[]>;
  remove(): Promise<void>;
}

/** Creates a project with these packages, as they are published, and with dependencies that this repository has installed. */
export async function createProject(
  packages: readonly string[],
  dependencies: readonly string[] = [],
): Promise<Project> {
  const folder = await mkdtemp(join(tmpdir(), "parley-project-"));
  // Packing builds dist, so it happens in a copy: other tests may be packing the same packages.
  const sources = await mkdtemp(join(tmpdir(), "parley-packages-"));
  const packed: Record<string, string[]> = {};
  const installed = dependencies.map((name) => join(ROOT, "node_modules", name));
  try {
    await copyPackages(sources);
    for (const name of packages) {
      const { filename, files } = await pack(join(sources, "packages", name), folder);
      packed[name] = files;
      installed.push(`./${filename}`);
    }
    await writeFile(join(folder, "package.json"), '{ "type": "module", "private": true }');
    const offline = ["--offline", "--install-links", "--no-audit", "--no-fund"];
    await run("npm", ["install", ...offline, ...installed], { cwd: folder });
  } finally {
    await rm(sources, { recursive: true, force: true });
  }
  return { folder, packed, remove: () => rm(folder, { recursive: true, force: true }) };
}

async function copyPackages(to: string): Promise<void> {
  await mkdir(join(to, "packages"));
  const isSource = (path: string) => !/[/\\](dist|node_modules)$/.test(path);
  await cp(join(ROOT, "packages"), join(to, "packages"), { recursive: true, filter: isSource });
  await cp(join(ROOT, "tsconfig.json"), join(to, "tsconfig.json"));
  await symlink(join(ROOT, "node_modules"), join(to, "node_modules"));
}

async function pack(folder: string, to: string): Promise<{ filename: string; files: string[] }> {
  const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", to], { cwd: folder });
  // The output of the build comes first.
  const [{ filename, files }] = JSON.parse(stdout.slice(stdout.indexOf("[\n")));
  return { filename, files: files.map(({ path }: { path: string }) => path) };
}

/** Asserts that an archive has these files, and only files of the published kinds. */
export function checkContents(packed: readonly string[], needed: readonly string[]): void {
  const wanted =
    /^(LICENSE|README\.md|package\.json|dist\/([a-z-]+\.(js|d\.ts)|labels\/[a-z]+\.js|licenses\.md)|src\/labels\/[a-z]+\.json)$/;
  assert.deepEqual(
    packed.filter((path) => !wanted.test(path)),
    [],
  );
  assert.deepEqual(
    ["LICENSE", "README.md", ...needed].filter((path) => !packed.includes(path)),
    [],
  );
}

/** Returns the code blocks of a page in this language, in order. */
export async function codeBlocks(page: string, language: string): Promise<string[]> {
  const text = await readFile(page, "utf8");
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))].map(
    (match) => match[1]!,
  );
}

/** Returns what the compiler reports for these files of the project. */
export async function compile({ folder }: Project, settings: string[], ...files: string[]): Promise<string> {
  const strict = [
    ...["--ignoreConfig", "--noEmit", "--strict", "--exactOptionalPropertyTypes"],
    ...["--target", "es2023"],
  ];
  const all = [...strict, ...settings, ...files];
  return run(join(ROOT, "node_modules/.bin/tsc"), all, { cwd: folder }).then(
    ({ stdout }) => stdout,
    ({ stdout }) => stdout,
  );
}

/** Finds another Node on this machine, of the oldest supported version. */
export async function oldNode(): Promise<string | undefined> {
  const { stdout } = await run("which", ["-a", "node"]);
  for (const path of stdout.split("\n").filter(Boolean)) {
    const version = (await run(path, ["--version"])).stdout;
    if (version.startsWith("v20.")) return path;
  }
  return undefined;
}
