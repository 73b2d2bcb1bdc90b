// Makes the folder of the npm package `parley-server`.
// usage: npm run release:server [-- FOLDER]
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { bundleServer, ROOT } from "./bundle.ts";

const FOLDER = process.argv[2] ?? join(ROOT, "release/parley-server");
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

function copy(path: string, to = path): void {
  mkdirSync(dirname(join(FOLDER, to)), { recursive: true });
  cpSync(join(ROOT, path), join(FOLDER, to), { recursive: true });
}

/** The bundles contain all packages, so the only dependency is Node. npm installs the one for the machine. */
function metadata(): object {
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

rmSync(FOLDER, { recursive: true, force: true });
await bundleServer(join(FOLDER, "dist"));
for (const path of globSync(ASSETS, { cwd: ROOT })) copy(path);
for (const path of ["LICENSE", "runtime/node"]) copy(path);
copy("tools/release/parley-server.md", "README.md");
writeFileSync(join(FOLDER, "package.json"), `${JSON.stringify(metadata(), undefined, 2)}\n`);
const command = readFileSync(join(ROOT, "bin/parley"), "utf8").replace("src/main.ts", "dist/main.js");
mkdirSync(join(FOLDER, "bin"));
writeFileSync(join(FOLDER, "bin/parley"), command, { mode: 0o755 });
console.log(`Made ${FOLDER}. Run npm pack there.`);
