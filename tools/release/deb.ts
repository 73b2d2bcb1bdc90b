// Makes the Debian packages from the npm package of the server and Node.
// usage: npm run release:deb [-- FOLDER [ARCHITECTURE]]
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { ROOT } from "./bundle.ts";
import { installNode } from "./node.ts";
import { makePackage } from "./package.ts";

/** What npm and binutils call the architectures of Debian. */
const ARCHITECTURES: Record<string, { machine: string; gnu: string }> = {
  amd64: { machine: "x64", gnu: "x86_64-linux-gnu" },
  arm64: { machine: "arm64", gnu: "aarch64-linux-gnu" },
};
/** Debian's tools take the address from the same variable. */
const MAINTAINER = `Parley maintainers <${process.env.DEBEMAIL ?? "root@localhost"}>`;

const { version, description } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
/** The time of all files in a package, so that the same commit makes the same bytes. */
const commitTime = execFileSync("git", ["log", "-1", "--format=%ct"], { cwd: ROOT, encoding: "utf8" }).trim();

/** Copies Node without the symbols that only debuggers read. */
function stripNode(from: string, to: string, gnu: string): void {
  mkdirSync(dirname(to), { recursive: true });
  try {
    execFileSync(`${gnu}-strip`, ["-o", to, from]);
  } catch (cause) {
    const name = `binutils-${gnu.replace("_", "-")}`;
    throw new Error(`Cannot strip Node. Is the Debian package ${name} installed?`, { cause });
  }
  chmodSync(to, 0o755);
}

/** Returns the unit of docs/operate.md with the paths of the package. */
function toUnit(): string {
  const page = readFileSync(join(ROOT, "docs/operate.md"), "utf8");
  return /^```ini\n(\[Unit\]\n.*?)^```$/ms
    .exec(page)![1]!
    .replace("WorkingDirectory=/opt/parley\n", "")
    .replace("/opt/parley/bin/parley", "/usr/bin/parley");
}

function toControl(tree: string, architecture: string): string {
  const files = globSync("**/*", { cwd: tree }).map((path) => statSync(join(tree, path)));
  const kilobytes = files.reduce((sum, file) => sum + (file.isFile() ? Math.ceil(file.size / 1024) : 1), 0);
  return `Package: parley
Version: ${version}
Architecture: ${architecture}
Maintainer: ${MAINTAINER}
Installed-Size: ${kilobytes}
Depends: adduser, libc6 (>= 2.28), libgcc-s1, libstdc++6
Section: net
Priority: optional
Description: ${description.replace(/^A (.*):.*$/, "$1")}
 Contacts, groups, messages and files over a plain HTTP API, with a web console
 and the documentation. The package contains Node, and starts the server at
 http://127.0.0.1:8080.
`;
}

function toCopyright(): string {
  return `Parley: ${readFileSync(join(ROOT, "LICENSE"), "utf8")}
Node: see node.LICENSE in this folder.

Packages from the npm registry in the code: see /usr/lib/parley/dist/licenses.md and
/usr/lib/parley/console/dist/licenses.md.
`;
}

function toChangelog(): Buffer {
  const date = new Date(Number(commitTime) * 1000).toUTCString().replace("GMT", "+0000");
  const entry = `parley (${version}) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n`;
  return gzipSync(`${entry}\n -- ${MAINTAINER}  ${date}\n`, { level: 9 });
}

function toChecksums(tree: string): string {
  return globSync("{etc,usr}/**/*", { cwd: tree })
    .filter((path) => statSync(join(tree, path)).isFile())
    .sort()
    .map(
      (path) =>
        `${createHash("md5")
          .update(readFileSync(join(tree, path)))
          .digest("hex")}  ${path}\n`,
    )
    .join("");
}

/** Writes all files of a package into a folder. */
function fill(tree: string, server: string, node: string, architecture: string): void {
  const { machine, gnu } = ARCHITECTURES[architecture]!;
  const write = (path: string, content: string | Buffer, mode = 0o644) => {
    mkdirSync(dirname(join(tree, path)), { recursive: true });
    writeFileSync(join(tree, path), content);
    chmodSync(join(tree, path), mode);
  };
  const copy = (name: string, path: string, mode?: number) =>
    write(path, readFileSync(join(import.meta.dirname, "debian", name)), mode);
  cpSync(server, join(tree, "usr/lib/parley"), { recursive: true });
  for (const name of ["LICENSE", "README.md"]) rmSync(join(tree, "usr/lib/parley", name));
  const program = `usr/lib/parley/runtime/node_modules/node-linux-${machine}/bin/node`;
  stripNode(join(node, "bin/node"), join(tree, program), gnu);
  copy("parley", "usr/bin/parley", 0o755);
  copy("parley.env", "etc/parley.env", 0o640);
  copy("lintian-overrides", "usr/share/lintian/overrides/parley");
  write("usr/lib/systemd/system/parley.service", toUnit());
  write("usr/share/doc/parley/node.LICENSE", readFileSync(join(node, "LICENSE")));
  write("usr/share/doc/parley/copyright", toCopyright());
  write("usr/share/doc/parley/changelog.gz", toChangelog());
  write("DEBIAN/control", toControl(tree, architecture));
  write("DEBIAN/md5sums", toChecksums(tree));
  write("DEBIAN/conffiles", "/etc/parley.env\n");
  for (const name of ["postinst", "prerm", "postrm"]) copy(name, `DEBIAN/${name}`, 0o755);
}

process.umask(0o022);
const target = process.argv[2] ?? join(ROOT, "release");
const architectures = process.argv[3] ? [process.argv[3]] : Object.keys(ARCHITECTURES);
const folder = mkdtempSync(join(tmpdir(), "parley-release-"));
try {
  const server = join(folder, "server");
  await makePackage(server);
  mkdirSync(target, { recursive: true });
  for (const architecture of architectures) {
    const tree = join(folder, `deb-${architecture}`);
    // dpkg-deb needs a folder that everybody may read.
    mkdirSync(tree, { mode: 0o755 });
    const node = installNode(folder, ARCHITECTURES[architecture]!.machine);
    fill(tree, server, node, architecture);
    const file = join(target, `parley_${version}_${architecture}.deb`);
    execFileSync("dpkg-deb", ["--build", "--root-owner-group", tree, file], {
      stdio: ["ignore", "ignore", "inherit"],
      env: { ...process.env, SOURCE_DATE_EPOCH: commitTime },
    });
    console.log(`Made ${file}.`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
