import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

/** Runs a system command. If it fails, throws an error with its output. */
export function system(command: string, ...args: string[]): void {
  const { status, error, stderr } = spawnSync(command, args, { encoding: "utf8", timeout: 60_000 });
  if (error || status !== 0) throw new Error(`${command} ${args.join(" ")}: ${error?.message ?? stderr}`);
}

/** Returns why nothing can be mounted here with these commands; false if it can. */
export function whyNotMounted(...commands: string[]): string | false {
  if (process.getuid?.() !== 0) return "only root may mount";
  const missing = commands.find((command) => spawnSync("which", [command]).status !== 0);
  if (missing) return `${missing} is not installed`;
  const folder = mkdtempSync(join(tmpdir(), "parley-mount-"));
  try {
    system("mount", "-t", "tmpfs", "tmpfs", folder);
    system("umount", folder);
    return false;
  } catch (error) {
    return (error as Error).message;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Mounts a file system in memory with these options. It is unmounted after the test, even a failed one. */
export function mountTmpfs(t: TestContext, options: string): string {
  const folder = mkdtempSync(join(tmpdir(), "parley-tmpfs-"));
  t.after(() => {
    // Lazily, because a failed test may leave a server that uses it until the next hook stops that server.
    spawnSync("umount", ["--lazy", folder]);
    rmSync(folder, { recursive: true, force: true });
  });
  system("mount", "-t", "tmpfs", "-o", options, "tmpfs", folder);
  return folder;
}

const SHUT_DOWN = `open(my $d, "<", $ARGV[0]) or die $!; my $how = pack("L", 2); ioctl($d, 0x8004587D, $how) or die $!`;

/**
 * A disk with ext4 whose power can be cut. Its image is in memory, because only writes that the file system has issued
 * count. It is detached after the test, even a failed one.
 */
export class Disk {
  readonly folder: string;
  readonly #image: string;

  constructor(t: TestContext) {
    const base = mountTmpfs(t, "size=600m");
    this.#image = join(base, "image");
    this.folder = join(base, "disk");
    mkdirSync(this.folder);
    t.after(() => void spawnSync("umount", ["--lazy", this.folder]));
    system("truncate", "--size=512M", this.#image);
    system("mkfs.ext4", "-q", this.#image);
    this.mount();
  }

  mount(): void {
    system("mount", "-o", "loop", this.#image, this.folder);
  }

  unmount(): void {
    system("umount", this.folder);
  }

  /** Drops everything that the file system has not yet written: FS_IOC_SHUTDOWN without flushing the journal. */
  cutPower(): void {
    system("perl", "-e", SHUT_DOWN, this.folder);
  }
}
