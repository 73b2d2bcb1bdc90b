import { OperatorError } from "../errors.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Setting<T> {
  name: string;
  /** What the value must be. */
  accepts: string;
  /** The default, written as in the variable; empty: none. */
  fallback: string;
  /** What happens without a value, if there is no default. For the reference. */
  unset?: string;
  /** Returns undefined for an invalid value. */
  parse(text: string): T | undefined;
}

/** Throws `OperatorError`, naming the variable and the form it must have. */
export function read<T>(from: Setting<T>, env: Environment): T {
  const value = from.parse(env[from.name] || from.fallback);
  if (value === undefined) throw new OperatorError(`${from.name} must be ${from.accepts}.`);
  return value;
}
