import { pino } from "pino";

/** Structured lines of JSON. Callers name each field: no request, header or error object is logged whole. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  debug(fields: object, message: string): void;
  /** Whether `debug` logs at all, for callers who would build its fields on a hot path. */
  readonly isDebug: boolean;
}

/** Of an error what a log may hold: other members can carry the input that was at fault. */
export function errorFields(error: unknown): object {
  if (!(error instanceof Error)) return { error: String(error) };
  const { name, message, stack, cause } = error;
  const code = (error as { code?: unknown }).code;
  return { error: { name, message, code, stack, ...(cause ? { cause: errorFields(cause) } : {}) } };
}

/** Logs to standard error, so that standard output stays for what a person or a script asked for. */
export function createLog(level: string): Log {
  const log = pino({ level, base: null }, pino.destination({ dest: 2, sync: true }));
  return Object.assign(log, { isDebug: log.isLevelEnabled("debug") });
}
