import { pino } from "pino";

/** Writes structured JSON lines. Callers name each field: no request, header or error object is logged as a whole. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  debug(fields: object, message: string): void;
  /** Whether `debug` logs at all; check it before building its fields on a hot path. */
  readonly isDebug: boolean;
}

/** Picks the fields of an error that are safe to log: others may contain the invalid input. */
export function errorFields(error: unknown): object {
  if (!(error instanceof Error)) return { error: String(error) };
  const { name, message, stack, cause } = error;
  const code = (error as { code?: unknown }).code;
  return { error: { name, message, code, stack, ...(cause ? { cause: errorFields(cause) } : {}) } };
}

/** Logs to standard error. Standard output is for requested results only. */
export function createLog(level: string): Log {
  const log = pino({ level, base: null }, pino.destination({ dest: 2, sync: true }));
  return Object.assign(log, { isDebug: log.isLevelEnabled("debug") });
}
