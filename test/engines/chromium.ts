import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";

/** Debian's: a browser that is downloaded would not be there everywhere. */
export const CHROMIUM = "/usr/bin/chromium";

const MISSING = "PARLEY_TEST_CHROMIUM_MISSING";

/** Why there is no browser to test with; false where there is one. */
export const noChromium = existsSync(CHROMIUM)
  ? false
  : (process.env[MISSING] ?? "start the tests by npm test: it installs Chromium");

/** Installs it where that can be done, and tells the tests why where it cannot. */
export function installChromium(): void {
  if (existsSync(CHROMIUM)) return;
  const apt = (...args: string[]) =>
    execFileSync("apt-get", args, {
      stdio: "pipe",
      encoding: "utf8",
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    });
  const install = () => apt("install", "-y", "--no-install-recommends", "chromium", "fonts-liberation");
  try {
    if (process.getuid?.() !== 0) throw new Error("that needs root");
    try {
      install();
    } catch {
      apt("update");
      install();
    }
  } catch (error) {
    const said = (error as { stderr?: string }).stderr?.trim().split("\n").at(-1) || String(error);
    process.env[MISSING] = `Chromium cannot be installed: ${said}`;
  }
}
