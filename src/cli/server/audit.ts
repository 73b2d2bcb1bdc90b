import { readConfig } from "../../config/settings.ts";
import type { DataAccess } from "../../core/node/core.ts";
import { getUserByName } from "../../core/people/users.ts";
import { type AuditFilters, auditFilters, exportAudit } from "../../core/record/audit-trail.ts";
import { readFields } from "../../core/resource/fields.ts";
import { OperatorError, ParleyError } from "../../errors.ts";
import { isId } from "../../util/ids.ts";
import type { Io } from "../io.ts";
import { withDataAccess } from "./data.ts";

export interface AuditOptions {
  actor?: string;
  object?: string;
  action?: string[];
  /** Seconds. */
  from?: number;
  before?: number;
}

/** The option of each field. */
const OPTIONS = {
  actor_id: "--actor",
  object_id: "--object",
  actions: "--action",
  created_from: "--from",
  created_before: "--before",
} satisfies Partial<Record<keyof AuditFilters, string>>;

/** Prints the audit trail as JSON lines, oldest first. */
export async function printAudit(io: Io, options: AuditOptions): Promise<void> {
  await withDataAccess(readConfig(io.env), async (core) => {
    const filters = await toFilters(core, options);
    const isAborted = () => io.stop.aborted || io.unread.aborted;
    for await (const lines of exportAudit(core, filters, "", isAborted)) io.print(lines.trimEnd());
    if (io.stop.aborted) throw new OperatorError("Stopped before completion.");
  });
}

/** Checks the options like the fields of a request. */
async function toFilters(core: DataAccess, options: AuditOptions): Promise<AuditFilters> {
  const { actor, object, action, from, before } = options;
  const fields = {
    actor_id: actor === undefined || isId("usr", actor) ? actor : (await getUserByName(core, actor)).id,
    object_id: object,
    actions: action,
    created_from: from,
    created_before: before,
  };
  const given = new Map(Object.entries(fields).filter(([, value]) => value !== undefined));
  try {
    return readFields(auditFilters, given);
  } catch (error) {
    const { message, param } = error as ParleyError;
    if (!(error instanceof ParleyError) || param === undefined) throw error;
    throw new OperatorError(message.replaceAll(param, OPTIONS[param as keyof typeof OPTIONS]));
  }
}
