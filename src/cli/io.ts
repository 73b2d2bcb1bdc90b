/** What a command needs from its process. */
export interface Io {
  /** The username of the user to act as, by `--as`. */
  actAs?: string | undefined;
  env: Readonly<Record<string, string | undefined>>;
  /** Standard error, if it is a terminal. */
  terminal: NodeJS.WriteStream | undefined;
  /** The width of the terminal on standard output; undefined if it is not a terminal. */
  columns: number | undefined;
  /** Aborts on SIGTERM and Ctrl-C. */
  stop: AbortSignal;
  /** Aborts when the reader of standard output has closed it, as `head` does. */
  unread: AbortSignal;
  /** Ends the command as Ctrl-C does: a terminal in raw mode sends no signal for that key. */
  interrupt(): void;
  /** Opens standard input. */
  input(): NodeJS.ReadStream;
  /** Returns standard output, for bytes. */
  output(): NodeJS.WriteStream;
  /** Prints a line of the result to standard output. */
  print(text: string): void;
  /** Prints a line of anything else to standard error. */
  warn(text: string): void;
}
