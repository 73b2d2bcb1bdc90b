// A server with a scanner, and files to scan.
import type { TestContext } from "node:test";
import type { ScanSettings } from "../../../src/config/file-settings.ts";
import type { Config } from "../../../src/config/settings.ts";
import { startOn, type TestApp, testConfig, upload } from "../../support/app.ts";
import { EICAR, scanSettings, type TestScanner, testScanner } from "../../support/engines/scanner.ts";
import { type Person, person } from "../../support/people.ts";

/** Too large for the database. */
export const LARGE = 300_000;
export const MAX_BYTES = 1_000_000;
/** A file in the database, and one in the store. */
export const SIZES = [EICAR.length, LARGE];

export interface Site {
  server: TestApp;
  scanner: TestScanner;
  ann: Person;
}

export async function site(
  t: TestContext,
  more: Partial<ScanSettings> = {},
  config: Partial<Config> = {},
): Promise<Site> {
  const scanner = await testScanner(t);
  const base = await testConfig(t, { maxFileBytes: MAX_BYTES });
  const server = await startOn(t, { ...base, ...config, scan: scanSettings(scanner.port, more) });
  scanner.files = [];
  return { server, scanner, ann: await person(server, "ann") };
}

export const infected = (size: number) => Buffer.from(EICAR.padEnd(size));
export const clean = (size: number) => Buffer.alloc(size, "clean ");

export function give({ server, ann }: Site, bytes: Buffer, fields: Record<string, string> = {}) {
  return upload(server.url, ann, new File([Uint8Array.from(bytes)], "a.txt"), fields);
}
