// Sets the version of all packages, and makes everything that a release publishes. It publishes nothing.
// usage: npm run release -- VERSION
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { globSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./bundle.ts";

const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const write = (path: string, text: string) => writeFileSync(join(ROOT, path), text);

function npm(...args: string[]): void {
  execFileSync("npm", args, { cwd: ROOT, stdio: ["ignore", "inherit", "inherit"] });
}

/** Throws unless the newest entry of the changelog is that of the version. */
function checkChangelog(version: string): void {
  const [, newest] = /^## (.+)$/m.exec(read("CHANGELOG.md"))!;
  const [name, date = ""] = newest!.split(" - ");
  if (name === version && /^\d{4}-\d\d-\d\d$/.test(date)) return;
  throw new Error(
    `CHANGELOG.md begins with "## ${newest}". It must begin with "## ${version} - YYYY-MM-DD".`,
  );
}

/** Sets the version in all files that have it, also in those that programs make. */
function setVersion(version: string): void {
  const { version: old } = JSON.parse(read("package.json"));
  const names = globSync("packages/*", { cwd: ROOT });
  for (const path of ["package.json", ...names.map((name) => `${name}/package.json`)]) {
    write(
      path,
      read(path).replaceAll(new RegExp(`("(?:version|parley-\\w+)": )"${old}"`, "g"), `$1"${version}"`),
    );
  }
  for (const path of ["docs/install.md", ...names.map((name) => `${name}/README.md`)]) {
    write(
      path,
      read(path)
        .replaceAll(`-${old}.tgz`, `-${version}.tgz`)
        .replaceAll(`parley_${old}_`, `parley_${version}_`),
    );
  }
  npm("install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund", "--offline");
  for (const name of ["openapi", "client-types", "docs"]) npm("run", "-s", name);
}

/** Writes the SHA-256 of all files of a folder as `sha256sum --check` reads them. */
function addChecksums(folder: string): void {
  const lines = readdirSync(folder)
    .sort()
    .map((name) => {
      const digest = createHash("sha256")
        .update(readFileSync(join(folder, name)))
        .digest("hex");
      return `${digest}  ${name}\n`;
    });
  writeFileSync(join(folder, "SHA256SUMS"), lines.join(""));
}

/** Makes all packages and files into an empty folder. */
function make(folder: string, version: string): void {
  const server = join(ROOT, "release/parley-server");
  npm("run", "-s", "release:server", "--", server);
  for (const packed of [[server], ["--workspaces"]])
    npm("pack", "--silent", "--pack-destination", folder, ...packed);
  for (const name of ["file", "deb"]) npm("run", "-s", `release:${name}`, "--", folder);
  const sbom = ["sbom", "--omit=dev", "--package-lock-only", "--sbom-format=spdx"];
  writeFileSync(join(folder, `parley-${version}.spdx.json`), execFileSync("npm", sbom, { cwd: ROOT }));
  addChecksums(folder);
}

const version = process.argv[2] ?? "";
// Without pre-releases: dpkg sorts 1.2.3-rc.1 after 1.2.3, and npm would install it by default.
if (!/^\d+\.\d+\.\d+$/.test(version)) throw new Error("Name a version, such as 1.2.3.");
checkChangelog(version);
setVersion(version);
if (execFileSync("git", ["status", "--porcelain"], { cwd: ROOT, encoding: "utf8" })) {
  console.log(
    `The version is now ${version}. Commit all changes, and run this command again to make the release.`,
  );
  process.exitCode = 1;
} else {
  const folder = join(ROOT, `release/${version}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  make(folder, version);
  console.log(`Made ${folder}. tools/release/README.md says how to publish it.`);
}
