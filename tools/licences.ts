// Lists the packages that the lock files pin, with their licences and whether they run a script on install. `npm run
// licences` prints them; a test checks them.
import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface Package {
  name: string;
  version: string;
  /** SPDX expression; undefined if the package does not declare one. */
  license: string | undefined;
  integrity: string | undefined;
  hasInstallScript: boolean;
  /** Whether only development needs the package. */
  isDev: boolean;
}

interface Lock {
  packages: Record<
    string,
    {
      version: string;
      license?: string;
      integrity?: string;
      hasInstallScript?: boolean;
      dev?: boolean;
      link?: boolean;
    }
  >;
}

const LOCKS = ["package-lock.json", "runtime/package-lock.json"];

/** Returns all packages that the lock files below this folder pin, for every platform. */
export function pinnedPackages(root: string): Package[] {
  return LOCKS.flatMap((lock) => {
    const { packages } = JSON.parse(readFileSync(join(root, lock), "utf8")) as Lock;
    return (
      Object.entries(packages)
        // Not this repository and its workspaces, to which the lock file has links.
        .filter(([path, { link }]) => path.includes("node_modules/") && !link)
        .map(([path, { version, license, integrity, hasInstallScript = false, dev: isDev = false }]) => {
          const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
          return { name, version, license, integrity, hasInstallScript, isDev };
        })
    );
  });
}

function print(packages: Package[]): void {
  const licences = Map.groupBy(packages, ({ license }) => license ?? "unknown");
  for (const [license, of] of [...licences].sort((a, b) => b[1].length - a[1].length)) {
    console.log(`${license} (${of.length})`);
    for (const { name, version, isDev } of of)
      console.log(`  ${name} ${version}${isDev ? " (development)" : ""}`);
  }
  console.log("\nRun a script when they are installed:");
  for (const { name, version } of packages.filter(({ hasInstallScript }) => hasInstallScript))
    console.log(`  ${name} ${version}`);
}

if (import.meta.main) print(pinnedPackages(join(import.meta.dirname, "..")));
