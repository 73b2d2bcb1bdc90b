import { pino } from "pino";

/** Structured lines of JSON. Callers name each field: no request, header or error object is logged whole. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  debug(fields: object, message: string): void;
}

/** Logs to standard error, so that standard output stays for what a person or a script asked for. */
export function createLog(level: string): Log {
  return pino({ level, base: null }, pino.destination({ dest: 2, sync: true }));
}
