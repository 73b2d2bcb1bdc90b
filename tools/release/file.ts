// Makes Parley as one file for each kind of Linux machine that has a pinned Node.
// usage: npm run release:file [-- FOLDER]
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  globSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "./bundle.ts";
import { installNode } from "./node.ts";
import { makePackage } from "./package.ts";

const MACHINES = ["x64", "arm64"];
/** What of the package the file contains. */
const PACKED = "{boot.cjs,LICENSE,{console,dist,docs,packages,src}/**}";
/** Marks the byte by which Node notices that its file contains a program. */
const FUSE = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";
const POSTJECT = join(ROOT, "node_modules/postject/dist/cli.js");

/** Writes the code and files of a package as Node wants them inside of its file. */
function pack(made: string, node: string): string {
  copyFileSync(join(import.meta.dirname, "boot.cjs"), join(made, "boot.cjs"));
  const paths = globSync(PACKED, { cwd: made }).filter((path) => lstatSync(join(made, path)).isFile());
  const config = {
    main: "boot.cjs",
    output: "blob",
    disableExperimentalSEAWarning: true,
    execArgv: ["--max-semi-space-size=16"],
    assets: Object.fromEntries(paths.map((path) => [path, path])),
  };
  writeFileSync(join(made, "config.json"), JSON.stringify(config));
  execFileSync(node, ["--experimental-sea-config", "config.json"], { cwd: made, stdio: "pipe" });
  return join(made, config.output);
}

const target = process.argv[2] ?? join(ROOT, "release");
const folder = mkdtempSync(join(tmpdir(), "parley-release-"));
try {
  const made = join(folder, "package");
  await makePackage(made);
  const nodes = MACHINES.map((machine) => installNode(folder, machine));
  const own = nodes[MACHINES.indexOf(process.arch)]!;
  const blob = pack(made, join(own, "bin/node"));
  mkdirSync(target, { recursive: true });
  for (const [i, machine] of MACHINES.entries()) {
    const file = join(target, `parley-linux-${machine}`);
    copyFileSync(join(nodes[i]!, "bin/node"), file);
    execFileSync(process.execPath, [POSTJECT, file, "NODE_SEA_BLOB", blob, "--sentinel-fuse", FUSE], {
      stdio: "pipe",
    });
    console.log(`Made ${file}.`);
  }
  const licences = [
    join(made, "LICENSE"),
    join(own, "LICENSE"),
    ...globSync("**/licenses.md", { cwd: made }).map((path) => join(made, path)),
  ];
  writeFileSync(
    join(target, "parley-licenses.md"),
    licences.map((path) => readFileSync(path, "utf8")).join("\n"),
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
