import type { BlobReader } from "../../blobs/store.ts";
import { readConfig } from "../../config/settings.ts";
import type { DataAccess } from "../../core/node/core.ts";
import { proveScanner, Scanner } from "../../core/node/scanner.ts";
import { newEntry } from "../../core/record/audit-trail.ts";
import { type Fault, faultOf } from "../../core/upkeep/integrity.ts";
import { isUnscanned } from "../../db/queries/files/scans.ts";
import { isAvatar, isBlobLive, type StoredFile, storedFiles } from "../../db/queries/upkeep/integrity.ts";
import { readStore } from "../../engines.ts";
import { OperatorError, ParleyError } from "../../errors.ts";
import type { Io } from "../io.ts";
import { counted } from "../text.ts";
import { withDataAccess } from "./data.ts";
import { type Finding, fileFinding, formatFinding, infectedFinding, toLocation } from "./findings.ts";
import { amount, createWatch, type Watch } from "./watch.ts";

/** Where a scan reads and writes. */
interface Site {
  accounts: DataAccess;
  blobs: BlobReader;
  scanner: Scanner;
  watch: Watch;
}

/**
 * Scans every file again, also while a server runs, and withdraws infected files. Returns the exit code: 1 if there
 * is a finding.
 */
export async function scanFiles(io: Io, options: { json?: boolean }): Promise<number> {
  const config = readConfig(io.env);
  if (!config.scan) throw new OperatorError("Set PARLEY_SCAN as for the server: it names the scanner.");
  const scanner = new Scanner(config.scan, () => {});
  await proveScanner(scanner);
  return withDataAccess(config, async (accounts) => {
    const site = { accounts, scanner, blobs: await readStore(config), watch: createWatch(io) };
    const location = toLocation(config);
    let findings = 0;
    let larger = 0;
    for await (const file of storedFiles(accounts.db)) {
      if (file.file_size > scanner.settings.maxBytes) {
        larger++;
        continue;
      }
      const result = await scanFile(site, file);
      site.watch.onFile();
      if (result === null) continue;
      findings++;
      const finding: Finding =
        typeof result === "string" ? infectedFinding(file, result) : fileFinding(location, file, result);
      io.print(
        options.json ? JSON.stringify({ ...finding.data, hint: finding.hint }) : formatFinding(finding),
      );
    }
    const { files, bytes } = site.watch;
    if (options.json) io.print(JSON.stringify({ kind: "summary", files, bytes, findings, larger }));
    else io.print(summary(site.watch, findings, larger));
    return findings > 0 ? 1 : 0;
  });
}

/** Returns the name of the finding, or the fault that prevents a scan; null if the file is clean. */
async function scanFile(site: Site, file: StoredFile): Promise<string | Fault | null> {
  const { accounts, blobs, scanner, watch } = site;
  const { db } = accounts;
  using scan = await scanner.start();
  const fault = await faultOf(db, blobs, file, (chunk) => {
    watch.onChunk(chunk);
    return scan.feed(chunk);
  });
  // Bytes erased since the row was read are no fault.
  if (fault) return (await isBlobLive(db, file.blob_key)) ? fault : null;
  const found = await scan.end().catch((error: Error) => {
    throw new OperatorError(`The scanner failed at ${file.id}: ${error.message}. Run the command again.`, {
      cause: error,
    });
  });
  if (found === null) {
    if (await isUnscanned(db, file.id)) await db.write("clearUnscanned", { id: file.id });
    return null;
  }
  const entry = newEntry(accounts, null);
  if (isAvatar(file)) {
    const { id, uploader_id: userId } = file;
    return (await db.write("withdrawAvatar", { userId, id, found, entry })) ? found : null;
  }
  try {
    await db.write("withdrawAttachment", { id: file.id, found, entry });
    return found;
  } catch (error) {
    // The uploader deleted it first.
    if (error instanceof ParleyError && error.code === "attachment_not_found") return null;
    throw error;
  }
}

function summary(watch: Watch, findings: number, larger: number): string {
  const lines = [`Scanned ${amount(watch)}: ${counted(findings, "finding")}.`];
  if (larger > 0) lines.push(`${counted(larger, "file")} not scanned, because of PARLEY_SCAN_MAX_SIZE.`);
  return lines.join("\n");
}
