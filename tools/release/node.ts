import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./bundle.ts";

/** Installs the Node of `runtime/` for a Linux machine, such as `arm64`, and returns its folder. */
export function installNode(folder: string, machine: string): string {
  const at = join(folder, machine);
  mkdirSync(at);
  for (const name of ["package.json", "package-lock.json"])
    copyFileSync(join(ROOT, "runtime", name), join(at, name));
  const args = ["ci", "--os=linux", `--cpu=${machine}`, "--no-audit", "--no-fund"];
  execFileSync("npm", args, { cwd: at, stdio: ["ignore", "ignore", "inherit"] });
  return join(at, `node_modules/node-linux-${machine}`);
}
