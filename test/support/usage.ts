// The resources that a process uses, from Linux's /proc.
import { existsSync, readdirSync, readFileSync } from "node:fs";

/** Why they cannot be read here; false if they can. */
export const noProc = existsSync("/proc/self/status") ? false : "it is read from Linux's /proc";

/** Returns the resident memory, in bytes. */
export function residentBytes(pid: number): number {
  return statusOf(pid, "VmRSS");
}

/** Returns the largest resident memory so far, in bytes. */
export function peakBytes(pid: number): number {
  return statusOf(pid, "VmHWM");
}

function statusOf(pid: number, name: string): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)![1]) * 1024;
}

export function openDescriptors(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

export function inMib(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
