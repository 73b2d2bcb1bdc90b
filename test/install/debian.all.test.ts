// The Debian package, installed by dpkg into a copy of this machine's system, which is in memory and shares its files.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, existsSync, globSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { mountTmpfs, system, whyNotMounted } from "../faults/mounts.ts";
import { freePort } from "../support/command.ts";
import { without } from "../support/engines/packages.ts";
import { ROOT } from "../support/packed.ts";

const skip = without("/usr/bin/lintian") || whyNotMounted("chroot", "dpkg", "runuser");
const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const ARCHITECTURE = process.arch === "arm64" ? "arm64" : "amd64";
const ARCHIVE = `parley_${version}_${ARCHITECTURE}.deb`;

/** A copy of the system with the package in `/root`. Its changes end with the test. */
class Machine {
  readonly root: string;
  readonly #changes: string;

  constructor(t: TestContext) {
    const memory = mountTmpfs(t, "size=1g");
    for (const name of ["upper", "work", "root"]) mkdirSync(join(memory, name));
    this.root = join(memory, "root");
    this.#changes = join(memory, "upper");
    const layers = `lowerdir=/,upperdir=${this.#changes},workdir=${memory}/work`;
    system("mount", "-t", "overlay", "-o", layers, "overlay", this.root);
    t.after(() => spawnSync("umount", ["--lazy", this.root]));
    system("mount", "-t", "proc", "proc", this.path("proc"));
    t.after(() => spawnSync("umount", ["--lazy", this.path("proc")]));
    system("mount", "--bind", "/dev", this.path("dev"));
    t.after(() => spawnSync("umount", ["--lazy", this.path("dev")]));
  }

  path(path: string): string {
    return join(this.root, path);
  }

  /** Runs a command as root and returns its output. */
  run(...command: string[]): string {
    const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", HOME: "/root", DEBIAN_FRONTEND: "noninteractive" };
    const { status, stdout, stderr } = spawnSync("chroot", [this.root, ...command], {
      env,
      encoding: "utf8",
      timeout: 60_000,
    });
    assert.equal(status, 0, `${command.join(" ")}: ${stdout}${stderr}`);
    return stdout;
  }

  /** Returns the files outside of `/root` that this machine lacks, by a part of their names. */
  added(name: string): string[] {
    return globSync(`{etc,usr,var}/**/*${name}*`, { cwd: this.#changes })
      .filter((path) => existsSync(this.path(path)))
      .sort();
  }

  /** Starts the server as the unit does, and returns a function that stops it. */
  async serve(url: string): Promise<() => Promise<void>> {
    const args = ["--userspec=parley:parley", this.root, "/usr/bin/parley", "serve"];
    const child = spawn("chroot", args, {
      env: { PATH: "/usr/sbin:/usr/bin:/bin", HOME: "/" },
      stdio: "ignore",
    });
    const closed = once(child, "close");
    const isReady = () =>
      fetch(`${url}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
    while (!(await isReady())) {
      assert.equal(child.exitCode, null, "the server has ended");
      await sleep(50);
    }
    return async () => {
      child.kill("SIGTERM");
      assert.deepEqual(await closed, [0, null]);
    };
  }
}

/** Makes the package, packed lightly to save time, and checks it by lintian. */
function makePackage(folder: string): void {
  const light = { DPKG_DEB_COMPRESSOR_TYPE: "gzip", DPKG_DEB_COMPRESSOR_LEVEL: "1" };
  const env = { ...process.env, ...light, DEBEMAIL: "maintainers@parley.chat" };
  const command = ["run", "-s", "release:deb", "--", folder, ARCHITECTURE];
  const made = spawnSync("npm", command, { cwd: ROOT, env, encoding: "utf8" });
  assert.equal(made.status, 0, made.stderr);
  const checked = spawnSync("lintian", ["--fail-on", "error", join(folder, ARCHIVE)], { encoding: "utf8" });
  assert.equal(checked.status, 0, checked.stdout);
}

/** Asserts that the unit of the package is that of the page, but for the paths, and that systemd accepts it. */
function checkUnit(machine: Machine): void {
  const unit = readFileSync(machine.path("usr/lib/systemd/system/parley.service"), "utf8").split("\n");
  const page = readFileSync(join(ROOT, "docs/operate.md"), "utf8").split("\n");
  assert.deepEqual(
    unit.filter((line) => !page.includes(line)),
    ["ExecStart=/usr/bin/parley serve"],
  );
  const lines = page.slice(page.indexOf("[Unit]"), page.indexOf("WantedBy=multi-user.target"));
  assert.deepEqual(
    lines.filter((line) => !unit.includes(line)),
    ["WorkingDirectory=/opt/parley", "ExecStart=/opt/parley/bin/parley serve"],
  );
  machine.run("systemd-analyze", "verify", "/usr/lib/systemd/system/parley.service");
  // In tenths: systemd calls an exposure of 2.0 and less OK.
  const bound = ["--offline=true", "--threshold=20"];
  machine.run("systemd-analyze", "security", ...bound, "/usr/lib/systemd/system/parley.service");
}

test("the package runs the server, keeps data and settings, and leaves nothing but data", {
  skip,
}, async (t) => {
  const machine = new Machine(t);
  makePackage(machine.path("root"));
  const install = () => machine.run("dpkg", "--install", `/root/${ARCHIVE}`);
  install();
  checkUnit(machine);
  assert.match(machine.run("systemctl", "is-enabled", "parley"), /^enabled/);
  const settings = machine.path("etc/parley.env");
  const group = Number(machine.run("id", "-g", "parley"));
  assert.deepEqual([statSync(settings).mode & 0o777, statSync(settings).gid], [0o640, group]);

  const url = `http://127.0.0.1:${await freePort()}`;
  const lines = [`PARLEY_PORT = ${new URL(url).port} \r`, "not a setting=1", 'PARLEY_LOG_LEVEL="warn"', ""];
  appendFileSync(settings, lines.join("\n"));
  const stop = await machine.serve(url);
  assert.match(await (await fetch(`${url}/docs/operate.html`)).text(), /<h1/);
  machine.run("parley", "user", "add", "ada");
  await stop();
  const owners = machine.run("find", "/var/lib/parley", "/var/cache/parley", "-not", "-user", "parley");
  assert.equal(owners, "", "root runs commands as the service's user");

  install();
  assert.match(readFileSync(settings, "utf8"), /^PARLEY_LOG_LEVEL="warn"$/m);
  assert.match(machine.run("parley", "user", "list"), /ada/);

  machine.run("dpkg", "--remove", "parley");
  assert.ok(existsSync(settings));
  assert.match(machine.run("dpkg", "--purge", "parley"), /The data of Parley stays in \/var\/lib\/parley/);
  assert.deepEqual(machine.added("parley"), ["var/lib/parley", "var/lib/parley/parley.db"]);

  install();
  assert.match(machine.run("parley", "user", "list"), /ada/);
  machine.run("rm", "-r", "/var/lib/parley");
  machine.run("dpkg", "--purge", "parley");
  assert.doesNotMatch(readFileSync(machine.path("etc/passwd"), "utf8"), /^parley:/m);
});
