import { readConfig } from "../config.ts";
import { exportAudit } from "../core/audit.ts";
import { withAccounts } from "./data.ts";
import type { Io } from "./io.ts";

/** Prints the audit trail as lines of JSON, oldest first. */
export async function printAudit(io: Io): Promise<void> {
  await withAccounts(readConfig(io.env), async (core) => {
    for await (const lines of exportAudit(core)) io.print(lines.trimEnd());
  });
}
