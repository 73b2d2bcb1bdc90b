import { Command, CommanderError, InvalidArgumentError } from "commander";
import metadata from "../../package.json" with { type: "json" };
import { hideTokens } from "../util/text.ts";
import type { Io } from "./io.ts";
import { addPeopleCommands } from "./people.ts";
import type { TokenOptions } from "./token.ts";

/** The exit code of what could not be done. That of 1 says that a command found something, or was refused. */
export const FAILED = 2;

const EXIT_CODES = `
Exit codes: 0 done; 1 check, backup or move found files missing, damaged or left over, the server refused what was asked,
or some of several files were not uploaded; ${FAILED} it could not be done; 130 Ctrl-C ended it.`;

/** Runs a command line and returns its exit code. Commands are loaded only when they run. Throws what they throw. */
export async function run(args: readonly string[], io: Io): Promise<number> {
  const program = new Command("parley")
    .description("A self-hosted messaging backend: contacts and attachments over HTTP.")
    .version(metadata.version, "--version", "print the version")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.print(text.trimEnd()),
      writeErr: (text) => io.warn(text.trimEnd()),
      outputError: (text, write) => write(hideTokens(text.replace(/^error: /, "parley: "))),
    })
    .showHelpAfterError()
    .commandsGroup("Commands of whoever runs the server:");
  program
    .command("serve")
    .description("run the server")
    .action(async () => (await import("./serve.ts")).serve(io));
  let exitCode = 0;
  addDataCommands(program, io, (code) => {
    exitCode = code;
  });
  addUserCommands(program, io);
  addTokenCommands(program, io);
  program
    .command("audit")
    .option("--json", "print JSON, one object a line; it does so anyway")
    .description("print the audit trail as lines of JSON, oldest first")
    .action(async () => (await import("./audit.ts")).printAudit(io));
  addPeopleCommands(program, io, (code) => {
    exitCode = code;
  });
  program.addHelpText("afterAll", EXIT_CODES);
  try {
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    // Commander has printed its message already; help and version are no failures.
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? 0 : FAILED;
  }
  return exitCode;
}

function addDataCommands(program: Command, io: Io, end: (exitCode: number) => void): void {
  program
    .command("check")
    .option("--json", "print JSON, one object a line")
    .description("compare the rows with the files, also beside a running server")
    .action(async (options) => end(await (await import("./check.ts")).check(io, options)));
  program
    .command("backup")
    .argument("<dir>", "a folder that does not exist yet, or is empty")
    .description("copy the data folder, also beside a running server")
    .action(async (dir) => end(await (await import("./backup.ts")).backup(io, dir)));
  program
    .command("restore")
    .argument("<dir>", "a backup")
    .description("make a data folder of a backup, where there is none yet")
    .action(async (dir) => (await import("./restore.ts")).restore(io, dir));
  program
    .command("move")
    .option("--to-database <target>", "a URL of PostgreSQL (postgres://…), or a data folder")
    .option("--to-store <target>", "an S3 store (s3://bucket?endpoint=…), or a data folder")
    .description("copy rows, files or both to another engine, with the server stopped; cut off, run it again")
    .action(async (options) => end(await (await import("./move.ts")).move(io, options)));
}

function addUserCommands(program: Command, io: Io): void {
  const user = program.command("user").description("make, list and remove users");
  user
    .command("add")
    .argument("<name>", "username")
    .option("--phone <number>", "phone number")
    .option("--json", "print JSON")
    .description("make a user")
    .action(async (name, options) => (await import("./user.ts")).addUser(io, name, options));
  user
    .command("list")
    .option("--json", "print JSON")
    .description("list the users, newest first")
    .action(async (options) => (await import("./user.ts")).listUsers(io, options));
  user
    .command("remove")
    .argument("<name>", "username")
    .option("--json", "print JSON")
    .description("erase a user and all that is theirs")
    .action(async (name, options) => (await import("./user.ts")).removeUser(io, name, options));
}

function addTokenCommands(program: Command, io: Io): void {
  const token = program.command("token").description("make, list and revoke access tokens");
  token
    .command("create")
    .argument("<name>", "username of the token's user")
    .option("--scope <scope>", "a scope; may be repeated (default: all but admin)", collect)
    .option("--expires <time>", "lifetime, such as 12h or 30d (default: none)", parseDuration)
    .option("--name <text>", "what the token is for")
    .option("--json", "print JSON")
    .description("make a token and print it, this once")
    .action(async (name, options: TokenOptions) => (await import("./token.ts")).addToken(io, name, options));
  token
    .command("list")
    .option("--json", "print JSON")
    .description("list the tokens, newest first, without their secrets")
    .action(async (options) => (await import("./token.ts")).listTokens(io, options));
  token
    .command("revoke")
    .argument("<id>", "id of the token (tok_…)")
    .option("--json", "print JSON")
    .description("revoke a token at once")
    .action(async (id, options) => (await import("./token.ts")).revokeToken(io, id, options));
}

function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}

const UNITS = { s: 1, m: 60, h: 3600, d: 86_400 } as const;

/** Milliseconds of "30d", "12h", "5m" or "90s". */
function parseDuration(text: string): number {
  const match = /^([1-9]\d{0,5})([smhd])$/.exec(text);
  if (!match) throw new InvalidArgumentError("It must be a number and a unit: 90s, 5m, 12h or 30d.");
  return Number(match[1]) * UNITS[match[2] as keyof typeof UNITS] * 1000;
}
