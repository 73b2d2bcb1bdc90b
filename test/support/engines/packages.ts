// The Debian packages that tests run on.
import { execFileSync } from "node:child_process";
import { existsSync, globSync, rmSync, writeFileSync } from "node:fs";

/** Of any version in Debian. */
export const DEBIAN_POSTGRES = "/usr/lib/postgresql/*/bin/postgres";

/** Packages by a program that each of them contains. */
const PACKAGES: Record<string, readonly string[]> = {
  "/usr/bin/chromium": ["chromium", "fonts-liberation"],
  "/usr/bin/chromium-headless-shell": ["chromium-headless-shell"],
  "/usr/bin/firefox-esr": ["firefox-esr"],
  "/usr/bin/swift-proxy-server": ["swift-proxy", "swift-account", "swift-container", "swift-object"],
  "/usr/sbin/clamd": ["clamav-daemon"],
  "/usr/bin/curl": ["curl"],
  "/usr/sbin/pgbouncer": ["pgbouncer"],
  "/usr/bin/prometheus": ["prometheus"],
  "/usr/bin/strace": ["strace"],
  "/usr/bin/lintian": ["lintian", "binutils", "adduser", "systemd"],
  "/usr/bin/go": ["golang-go", "golang-golang-x-oauth2-dev"],
  "/usr/bin/java": ["default-jre-headless"],
  "/usr/bin/javac": ["default-jdk-headless"],
  "/usr/share/java/okhttp.jar": ["libgoogle-gson-java", "libjsr305-java", "libokhttp-java"],
  "/usr/bin/qemu-aarch64": ["qemu-user", "libstdc++6-arm64-cross"],
  "/usr/lib/python3/dist-packages/dateutil": [
    "python3-certifi",
    "python3-dateutil",
    "python3-six",
    "python3-urllib3",
  ],
  [DEBIAN_POSTGRES]: ["postgresql"],
};
const POLICY = "/usr/sbin/policy-rc.d";

/** Installs missing packages if `PARLEY_TEST_INSTALL=1` is set. Otherwise the tests that need them are skipped. */
export function installPackages(): void {
  const missing = Object.keys(PACKAGES).filter((program) => !findProgram(program));
  if (process.env.PARLEY_TEST_INSTALL !== "1" || missing.length === 0) return;
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const apt = (...args: string[]) =>
    execFileSync("apt-get", args, { stdio: ["ignore", "ignore", "inherit"], env });
  const packages = missing.flatMap((program) => PACKAGES[program]!);
  const isOurs = !existsSync(POLICY);
  // Exit code 101 keeps packages from starting their services.
  if (isOurs) writeFileSync(POLICY, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    apt("update", "-qq");
    apt("install", "-y", "-qq", "--no-install-recommends", ...packages);
  } finally {
    if (isOurs) rmSync(POLICY);
  }
}

/** Returns the path of a program, whose name may be a pattern; undefined if it is not installed. */
export function findProgram(program: string): string | undefined {
  return globSync(program)[0];
}

/** Returns why a test that needs this program is skipped; false if it is installed. */
export function without(program: string): string | false {
  const [name] = PACKAGES[program]!;
  return (
    !findProgram(program) && `${name} is not installed: PARLEY_TEST_INSTALL=1 npm run test:all installs it`
  );
}
