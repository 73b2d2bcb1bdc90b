// What a process uses, as Linux tells it.
import { existsSync, readdirSync, readFileSync } from "node:fs";

/** Why this cannot be told here; false where it can. */
export const noProc = existsSync("/proc/self/status") ? false : "it is read from Linux's /proc";

/** Bytes. */
export function residentBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) * 1024;
}

export function openDescriptors(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

export function inMib(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
