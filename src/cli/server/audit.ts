import { readConfig } from "../../config/settings.ts";
import { exportAudit } from "../../core/audit.ts";
import type { Io } from "../io.ts";
import { withAccounts } from "./data.ts";

/** Prints the audit trail as JSON lines, oldest first. */
export async function printAudit(io: Io): Promise<void> {
  await withAccounts(readConfig(io.env), async (core) => {
    for await (const lines of exportAudit(core)) io.print(lines.trimEnd());
  });
}
