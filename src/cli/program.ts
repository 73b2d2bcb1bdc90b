import { Command, CommanderError, Option } from "commander";
import metadata from "../../package.json" with { type: "json" };
import { hideTokens } from "../util/text.ts";
import type { Io } from "./io.ts";
import { collect } from "./people/command-options.ts";
import { addPeopleCommands } from "./people/commands.ts";
import type { AuditOptions } from "./server/audit.ts";
import type { TokenOptions } from "./server/token.ts";
import { parseDuration, parseTime } from "./times.ts";

/** The exit code of a command that failed. 1 means that it found a problem or that the server refused. */
export const FAILED = 2;

const EXIT_CODES = `
Exit codes: 0 success; 1 check, backup or move found missing, damaged, stray or infected files, the server refused
the request or a line of a chat, or some of several files were not uploaded; ${FAILED} the command failed, or messages of a chat wait for the server; 130 interrupted by Ctrl-C.`;

/** Runs a command line and returns its exit code. Commands are loaded only when they run. Throws the errors of the command. */
export async function run(args: readonly string[], io: Io): Promise<number> {
  const program = new Command("parley")
    .description("A self-hosted messaging backend: contacts, groups, messages and files over HTTP.")
    .version(metadata.version, "--version", "print the version")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.print(text.trimEnd()),
      writeErr: (text) => io.warn(text.trimEnd()),
      outputError: (text, write) => write(hideTokens(text.replace(/^error: /, "parley: "))),
    })
    .showHelpAfterError()
    .commandsGroup("Commands on the machine of the server:");
  program
    .command("serve")
    .description("run the server")
    .action(async () => (await import("./server/serve.ts")).serve(io));
  program
    .command("dev")
    .description("try Parley: a server with temporary data, three users and a page with two of them")
    .action(async () => (await import("./server/dev.ts")).dev(io));
  let exitCode = 0;
  addDataCommands(program, io, (code) => {
    exitCode = code;
  });
  addUserCommands(program, io);
  addTokenCommands(program, io);
  program
    .command("audit")
    .option("--actor <name>", "only what this user did: a username, or the id of an erased user")
    .option("--object <id>", "only what was done to this object")
    .option("--action <action>", "only this action, such as token.revoked, repeatable", collect)
    .option("--from <time>", "only since this time (UTC), such as 2026-03-09 or 2026-03-09T17:30Z", parseTime)
    .option("--before <time>", "only before this time (UTC)", parseTime)
    .option("--json", "print JSON, one object per line (always)")
    .description("print the audit trail as JSON lines, oldest first")
    .action(async (options: AuditOptions) => (await import("./server/audit.ts")).printAudit(io, options));
  addPeopleCommands(program, io, (code) => {
    exitCode = code;
  });
  program.addHelpText("afterAll", EXIT_CODES);
  try {
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    // Commander has already printed its message. Help and version are successes.
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? 0 : FAILED;
  }
  return exitCode;
}

function addDataCommands(program: Command, io: Io, end: (exitCode: number) => void): void {
  program
    .command("check")
    .option("--json", "print JSON, one object per line")
    .option("--repair-search", "rebuild the search index, and check nothing else")
    .addOption(
      new Option(
        "--repair-contacts",
        "give contacts without a conversation theirs back, and check nothing else",
      ).conflicts("repairSearch"),
    )
    .addOption(
      new Option(
        "--scan",
        "scan every file for viruses and withdraw infected ones, and check nothing else",
      ).conflicts(["repairSearch", "repairContacts"]),
    )
    .description("verify the database and every file, also while the server runs")
    .action(async (options) => {
      if (options.scan) end(await (await import("./server/scan.ts")).scanFiles(io, options));
      else if (options.repairSearch)
        await (await import("./server/repair-search.ts")).repairSearch(io, options);
      else if (options.repairContacts)
        await (await import("./server/repair-contacts.ts")).repairContacts(io, options);
      else end(await (await import("./server/check.ts")).check(io, options));
    });
  program
    .command("backup")
    .argument("<dir>", "a new or empty folder")
    .description("back up the data folder, also while the server runs")
    .action(async (dir) => end(await (await import("./server/backup.ts")).backup(io, dir)));
  program
    .command("restore")
    .argument("<dir>", "a backup")
    .description("restore a backup to a new data folder")
    .action(async (dir) => (await import("./server/restore.ts")).restore(io, dir));
  program
    .command("move")
    .option("--to-database <target>", "a PostgreSQL URL (postgres://…) or a data folder")
    .option("--to-store <target>", "an S3 URL (s3://bucket?endpoint=…) or a data folder")
    .description(
      "move rows, files or both to another engine while the server is stopped; if interrupted, run it again",
    )
    .action(async (options) => end(await (await import("./server/move.ts")).move(io, options)));
}

function addUserCommands(program: Command, io: Io): void {
  const user = program.command("user").description("create, list, edit and remove users");
  user
    .command("add")
    .argument("<name>", "username")
    .option("--name <text>", "name that others see")
    .option("--phone <number>", "phone number")
    .option("--kind <kind>", "person or bot (default: person)")
    .option("--accepts-everyone", "also give this user as a contact each user who adds this one")
    .option("--json", "print JSON")
    .description("create a user")
    .action(async (name, options) => (await import("./server/user.ts")).addUser(io, name, options));
  user
    .command("list")
    .option("--json", "print JSON")
    .description("list users, newest first")
    .action(async (options) => (await import("./server/user.ts")).listUsers(io, options));
  user
    .command("edit")
    .argument("<name>", "username")
    .option("--name <text>", 'name that others see; "" for none')
    .option("--phone <number>", 'phone number; "" for none')
    .option("--avatar-url <url>", 'URL of a picture; "" for none')
    .option("--pause", "refuse all requests of this user until --resume; nothing is lost")
    .addOption(new Option("--resume", "accept requests of this user again").conflicts("pause"))
    .option("--json", "print JSON")
    .description("change the profile of a user, pause or resume them")
    .action(async (name, options) => (await import("./server/user.ts")).editUser(io, name, options));
  user
    .command("remove")
    .argument("<name>", "username")
    .option("--json", "print JSON")
    .description("delete a user with all of their data")
    .action(async (name, options) => (await import("./server/user.ts")).removeUser(io, name, options));
}

function addTokenCommands(program: Command, io: Io): void {
  const token = program.command("token").description("create, list and revoke access tokens");
  token
    .command("create")
    .argument("<name>", "username of the owner")
    .option("--scope <scope>", "a scope, repeatable (default: all but act_as and admin)", collect)
    .option("--expires <time>", "lifetime, such as 12h or 30d (default: no expiry)", parseDuration)
    .option("--name <text>", "what the token is for")
    .option("--json", "print JSON")
    .description("create a token and print it, only once")
    .action(async (name, options: TokenOptions) =>
      (await import("./server/token.ts")).addToken(io, name, options),
    );
  token
    .command("list")
    .option("--json", "print JSON")
    .description("list tokens, newest first, without their secrets")
    .action(async (options) => (await import("./server/token.ts")).listTokens(io, options));
  token
    .command("revoke")
    .argument("<id>", "id of the token (tok_…)")
    .option("--json", "print JSON")
    .description("revoke a token at once")
    .action(async (id, options) => (await import("./server/token.ts")).revokeToken(io, id, options));
}
