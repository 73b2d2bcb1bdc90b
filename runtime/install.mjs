// Runs after the root's `npm ci`, on whatever Node the machine has. Parley runs on Node 24 (LTS) for
// node:sqlite and type stripping; where the machine's Node is older, the runtime comes from the npm registry,
// pinned by this folder's own lock file.
import { execSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 24 || (major === 24 && minor < 15)) {
  const folder = fileURLToPath(new URL(".", import.meta.url));
  console.log(
    `Node ${process.versions.node} is older than 24.15: installing Node 24 beside it, for Parley alone.`,
  );
  execSync("npm ci --no-audit --no-fund", { cwd: folder, stdio: "inherit" });
  if (!existsSync(`${folder}node_modules/node-${process.platform}-${process.arch}/bin/node`)) {
    console.error(
      `The npm registry has no Node 24 for ${process.platform}-${process.arch} that is pinned here.`,
    );
    console.error("Install Node 24.15 or newer, then run npm ci again.");
    process.exitCode = 1;
  }
}
