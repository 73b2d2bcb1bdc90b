// The npm package `parley-server`, as a folder.
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { bundleServer, ROOT } from "./bundle.ts";

/** The files that the code reads by `src/assets.ts`. */
const ASSETS = [
  "console/dist/**",
  "docs/dist/**",
  "packages/parley-embed/served/**",
  "src/db/engines/*/**/*.sql",
  "src/http/hello/*",
  "src/http/openapi/*.json",
];

const readJson = (path: string) => JSON.parse(readFileSync(join(ROOT, path), "utf8"));

/** The bundles contain all packages, so the only dependency is Node. npm installs the one for the machine. */
function toMetadata(): object {
  const { version, description, license } = readJson("package.json");
  return {
    name: "parley-server",
    version,
    description,
    license,
    type: "module",
    bin: { parley: "bin/parley" },
    os: ["linux", "darwin"],
    optionalDependencies: readJson("runtime/package.json").optionalDependencies,
    peerDependencies: { sharp: ">=0.35.4" },
    peerDependenciesMeta: { sharp: { optional: true } },
  };
}

/** Writes the package into a folder, in place of all that the folder had. */
export async function makePackage(folder: string): Promise<void> {
  const copy = (path: string, to = path) => {
    mkdirSync(dirname(join(folder, to)), { recursive: true });
    cpSync(join(ROOT, path), join(folder, to), { recursive: true });
  };
  rmSync(folder, { recursive: true, force: true });
  await bundleServer(join(folder, "dist"));
  for (const path of [...globSync(ASSETS, { cwd: ROOT }), "LICENSE", "runtime/node"]) copy(path);
  copy("tools/release/parley-server.md", "README.md");
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(toMetadata(), undefined, 2)}\n`);
  const command = readFileSync(join(ROOT, "bin/parley"), "utf8").replace("src/main.ts", "dist/main.js");
  mkdirSync(join(folder, "bin"));
  writeFileSync(join(folder, "bin/parley"), command, { mode: 0o755 });
}
