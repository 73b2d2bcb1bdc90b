/** What a command may use of the process it runs in. */
export interface Io {
  env: Readonly<Record<string, string | undefined>>;
  /** Whether a person watches standard error. */
  isTerminal: boolean;
  /** How wide the terminal is that shows standard output; undefined where none does. */
  columns: number | undefined;
  /** Aborts when the process is asked to end. */
  stop: AbortSignal;
  /** Aborts when nobody reads standard output any more. */
  unread: AbortSignal;
  /** Ends the command as Ctrl-C does, where the terminal hands that key on. */
  interrupt(): void;
  /** Standard input, which is opened only where it is asked for. */
  input(): NodeJS.ReadStream;
  /** Standard output, for bytes. */
  output(): NodeJS.WriteStream;
  /** A line of standard output: what was asked for. */
  print(text: string): void;
  /** A line of standard error: what a person should know besides. */
  warn(text: string): void;
}
