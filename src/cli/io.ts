/** What a command may use of the process it runs in. */
export interface Io {
  env: Readonly<Record<string, string | undefined>>;
  /** Whether a person watches standard error. */
  isTerminal: boolean;
  /** Aborts when the process is asked to end. */
  stop: AbortSignal;
  /** Aborts when nobody reads standard output any more. */
  unread: AbortSignal;
  /** Standard input, which is opened only where it is asked for. */
  input(): NodeJS.ReadStream;
  /** A line of standard output: what was asked for. */
  print(text: string): void;
  /** A line of standard error: what a person should know besides. */
  warn(text: string): void;
}
