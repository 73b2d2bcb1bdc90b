import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { administer, type PostgresSource, startPostgres } from "./postgres.ts";

const SETTINGS = {
  autovacuum: "off",
  fsync: "off",
  shared_preload_libraries: "auto_explain",
  "auto_explain.log_min_duration": "0",
  "auto_explain.log_nested_statements": "on",
  "auto_explain.log_analyze": "on",
  "auto_explain.log_timing": "off",
  "auto_explain.log_format": "json",
  logging_collector: "on",
  log_destination: "jsonlog",
  log_rotation_size: "0",
  log_rotation_age: "0",
};
const LAST = "SELECT 'the last statement'";
const POLLS = 200;
const POLL_MS = 50;
const PIECE_BYTES = 2 ** 24;

/** A node of a plan, in the JSON of EXPLAIN. */
export interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Join Filter"?: number;
  "Rows Removed by Index Recheck"?: number;
  Plans?: PlanNode[];
}

/** A statement with its actual plan. */
export interface Explained {
  "Query Text": string;
  Plan: PlanNode;
  /** Present if PostgreSQL compiled the statement. */
  JIT?: unknown;
}

interface LogEntry {
  application_name?: string;
  message?: string;
}

/** A PostgreSQL that logs the plan of each statement, with autovacuum's ANALYZE turned off. */
export async function startExplained(
  t: TestContext,
  source: PostgresSource,
): Promise<{ url: string; explained(): Promise<Explained[]> }> {
  const server = await startPostgres({ source, settings: SETTINGS });
  t.after(() => server.remove());
  const { url } = server;

  async function logged(): Promise<string> {
    const pieces: Buffer[] = [];
    for (let at = 0; ; at += PIECE_BYTES) {
      const sql = `SELECT pg_read_binary_file(pg_current_logfile('jsonlog'), ${at}, ${PIECE_BYTES})`;
      const [piece] = (await administer(url, sql)) as [Buffer];
      pieces.push(piece);
      if (piece.length < PIECE_BYTES) return Buffer.concat(pieces).toString();
    }
  }

  return {
    url,
    async explained() {
      await administer(url, LAST);
      for (let polls = 0; polls < POLLS; polls++, await sleep(POLL_MS)) {
        const log = await logged();
        if (log.includes(LAST)) return log.split("\n").flatMap(toExplained);
      }
      assert.fail("The log of PostgreSQL lacks the last statement.");
    },
  };
}

/** Returns the statements of Parley's nodes only. */
function toExplained(line: string): Explained[] {
  if (!line.includes('"application_name":"parley"')) return [];
  let entry: LogEntry;
  try {
    entry = JSON.parse(line);
  } catch {
    // The line is still being written.
    return [];
  }
  const [duration, plan] = entry.message?.split("plan:\n") ?? [];
  return duration?.startsWith("duration: ") && plan ? [JSON.parse(plan)] : [];
}
