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

/**
 * A PostgreSQL that logs the plan of each statement, with autovacuum's ANALYZE turned off. `explained` returns those
 * since its last call.
 */
export async function startExplained(
  t: TestContext,
  source: PostgresSource,
): Promise<{ url: string; explained(): Promise<Explained[]> }> {
  const server = await startPostgres({ source, settings: SETTINGS });
  t.after(() => server.remove());
  const { url } = server;
  let at = 0;
  let calls = 0;

  /** Reads the log on from where the last call ended. */
  async function logged(): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for (;;) {
      const sql = `SELECT pg_read_binary_file(pg_current_logfile('jsonlog'), ${at}, ${PIECE_BYTES})`;
      const [piece] = (await administer(url, sql)) as [Buffer];
      pieces.push(piece);
      at += piece.length;
      if (piece.length < PIECE_BYTES) return Buffer.concat(pieces);
    }
  }

  return {
    url,
    async explained() {
      const last = `SELECT 'the last statement of ${++calls}'`;
      await administer(url, last);
      const pieces: Buffer[] = [];
      for (let polls = 0; polls < POLLS; polls++, await sleep(POLL_MS)) {
        pieces.push(await logged());
        const log = Buffer.concat(pieces).toString();
        // A line may be half written.
        if (log.includes(last) && log.endsWith("\n")) return log.split("\n").flatMap(toExplained);
      }
      assert.fail("The log of PostgreSQL lacks the last statement.");
    },
  };
}

/** Returns the statements of Parley's nodes only. */
function toExplained(line: string): Explained[] {
  if (!line.includes('"application_name":"parley"')) return [];
  const entry: LogEntry = JSON.parse(line);
  const [duration, plan] = entry.message?.split("plan:\n") ?? [];
  return duration?.startsWith("duration: ") && plan ? [JSON.parse(plan)] : [];
}
