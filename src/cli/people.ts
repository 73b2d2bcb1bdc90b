import { type Command, InvalidArgumentError } from "commander";
import type { Io } from "./io.ts";

type End = (exitCode: number) => void;

const JSON_OPTION = ["--json", "print JSON, one object a line"] as const;
const LIMIT = ["--limit <n>", "how many at most (default: all)", parseLimit] as const;
const CONTACT = "username or id of a contact";

/** The commands of those who use a server, over HTTP. */
export function addPeopleCommands(program: Command, io: Io, end: End): void {
  program.commandsGroup("Commands of a server's users:");
  program
    .command("login")
    .argument("[url]", "the server's address (default: PARLEY_URL, else http://127.0.0.1:8080)")
    .option("--token-stdin", "read the access token from standard input")
    .option(...JSON_OPTION)
    .description("log in with an access token, which is asked for and not shown")
    .action(async (url, options) => end(await (await import("./login.ts")).login(io, url, options)));
  program
    .command("logout")
    .option(...JSON_OPTION)
    .description("forget the login")
    .action(async (options) => (await import("./login.ts")).logout(io, options));
  program
    .command("whoami")
    .option(...JSON_OPTION)
    .description("show the server and the user that you are logged in as")
    .action(async (options) => end(await (await import("./login.ts")).whoami(io, options)));
  addContactCommands(program.command("contacts").description("your contacts"), io, end);
  addAttachmentCommands(program.command("attachments").description("files that you see"), io, end);
  program
    .command("upload")
    .argument("<file...>", "files; - for standard input")
    .option("--to <contact>", `${CONTACT} (default: your notes to self)`)
    .option("--name <filename>", "what the file is called there (default: its own name)")
    .option(...JSON_OPTION)
    .description("send files to a contact, one after another")
    .action(async (files, options) => end(await (await import("./upload.ts")).upload(io, files, options)));
  program
    .command("download")
    .argument("<id>", "id of the file (att_…)")
    .option(
      "-o, --output <file>",
      "where to: a file, a folder, or - for standard output (default: its own name)",
    )
    .option("--force", "overwrite what is there")
    .option(...JSON_OPTION)
    .description("save a file")
    .action(async (id, options) => end(await (await import("./download.ts")).download(io, id, options)));
}

function addContactCommands(contacts: Command, io: Io, end: End): void {
  contacts
    .command("list")
    .option("--blocked", "only those that you have blocked")
    .option(...LIMIT)
    .option(...JSON_OPTION)
    .description("list your contacts, newest first")
    .action(async (options) =>
      end(await (await import("./contacts.ts")).listContacts(io, undefined, options)),
    );
  contacts
    .command("search")
    .argument("<text>", "how a word of the username or the name begins")
    .option(...LIMIT)
    .option(...JSON_OPTION)
    .description("find contacts")
    .action(async (text, options) =>
      end(await (await import("./contacts.ts")).listContacts(io, text, options)),
    );
  contacts
    .command("add")
    .argument("<username>")
    .argument("<phone>", "phone number")
    .option("--name <text>", "what you call them")
    .option("--avatar <url>", "address of a picture")
    .option(...JSON_OPTION)
    .description("add a contact")
    .action(async (username, phone, options) =>
      end(await (await import("./contacts.ts")).addContact(io, username, phone, options)),
    );
  contacts
    .command("rename")
    .argument("<contact>", CONTACT)
    .argument("<name>", 'what you call them; "" for nothing')
    .option(...JSON_OPTION)
    .description("change what you call a contact")
    .action(async (who, name, options) =>
      end(await (await import("./contacts.ts")).renameContact(io, who, name, options)),
    );
  addContactSwitches(contacts, io, end);
}

function addContactSwitches(contacts: Command, io: Io, end: End): void {
  contacts
    .command("remove")
    .argument("<contact>", CONTACT)
    .option(...JSON_OPTION)
    .description("remove a contact, and your side of the conversation with all its files")
    .action(async (who, options) =>
      end(await (await import("./contacts.ts")).removeContact(io, who, options)),
    );
  contacts
    .command("block")
    .argument("<contact>", CONTACT)
    .option(...JSON_OPTION)
    .description("let nothing reach you that a contact sends")
    .action(async (who, options) =>
      end(await (await import("./contacts.ts")).blockContact(io, who, options)),
    );
  contacts
    .command("unblock")
    .argument("<contact>", CONTACT)
    .option(...JSON_OPTION)
    .description("let reach you again what a contact sends from now on")
    .action(async (who, options) =>
      end(await (await import("./contacts.ts")).unblockContact(io, who, options)),
    );
}

function addAttachmentCommands(attachments: Command, io: Io, end: End): void {
  attachments
    .command("list")
    .option("--with <contact>", "only the conversation with this contact: username or id")
    .option(...LIMIT)
    .option(...JSON_OPTION)
    .description("list the files of your conversations, newest first")
    .action(async (options) => end(await (await import("./attachments.ts")).listAttachments(io, options)));
  attachments
    .command("rename")
    .argument("<id>", "id of the file (att_…)")
    .argument("<filename>")
    .option(...JSON_OPTION)
    .description("rename a file that you have uploaded")
    .action(async (id, filename, options) =>
      end(await (await import("./attachments.ts")).renameAttachment(io, id, filename, options)),
    );
  attachments
    .command("remove")
    .argument("<id>", "id of the file (att_…)")
    .option(...JSON_OPTION)
    .description("delete a file that you have uploaded, for all")
    .action(async (id, options) =>
      end(await (await import("./attachments.ts")).removeAttachment(io, id, options)),
    );
}

function parseLimit(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError("It must be a whole number from 1 on.");
  return Number(text);
}
