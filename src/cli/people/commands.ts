import { Argument, type Command, Option } from "commander";
import type { Io } from "../io.ts";
import {
  CONTACT,
  CONVERSATION,
  collect,
  type End,
  GROUP,
  JSON_OPTION,
  LIMIT,
  MEMBER,
} from "./command-options.ts";
import { addMessageCommands } from "./message-commands.ts";
import { addPushCommands } from "./push-commands.ts";
import { addWebhookCommands } from "./webhook-commands.ts";

/** Adds the commands for users of a server, which work over HTTP. */
export function addPeopleCommands(program: Command, io: Io, end: End): void {
  program.commandsGroup("Commands for users, from any machine:");
  addOwnCommands(program, io, end);
  const others = program.commands.length;
  addSharedCommands(program, io, end);
  for (const command of program.commands.slice(others)) addActing(command, io);
}

/** Adds `--as` to a command, or to its subcommands. */
function addActing(command: Command, io: Io): void {
  for (const each of command.commands) addActing(each, io);
  if (command.commands.length > 0) return;
  command
    .option("--as <username>", "act as this user, with a token that has the scope act_as")
    .hook("preAction", () => {
      io.actAs = command.opts().as;
    });
}

/** Adds the commands about the token itself, and the one that names two users. */
function addOwnCommands(program: Command, io: Io, end: End): void {
  program
    .command("login")
    .argument("[url]", "the server's address (default: PARLEY_URL, else PARLEY_HOST and PARLEY_PORT)")
    .option("--token-stdin", "read the access token from standard input")
    .option("--browser", "print a link that signs a browser in to the console as you")
    .option(...JSON_OPTION)
    .description("log in with an access token, which you type hidden")
    .action(async (url, options) => end(await (await import("./login.ts")).login(io, url, options)));
  program
    .command("logout")
    .option(...JSON_OPTION)
    .description("delete the saved login")
    .action(async (options) => (await import("./login.ts")).logout(io, options));
  program
    .command("connect")
    .argument("<username>")
    .argument("<other>", "username of the other user")
    .option(...JSON_OPTION)
    .description("give two users each other as contacts, with a token that has the scope act_as")
    .action(async (user, other, options) =>
      end(await (await import("./contacts.ts")).connectUsers(io, user, other, options)),
    );
}

/** Adds the commands that a back end can also do as another user. */
function addSharedCommands(program: Command, io: Io, end: End): void {
  program
    .command("whoami")
    .option(...JSON_OPTION)
    .description("show your server and your user")
    .action(async (options) => end(await (await import("./login.ts")).whoami(io, options)));
  addContactCommands(program.command("contacts").description("manage your contacts"), io, end);
  const groups = program.command("groups").description("manage groups");
  addGroupCommands(groups, io, end);
  addMemberCommands(groups, io, end);
  addMessageCommands(program, io, end);
  addWebhookCommands(
    program.command("webhooks").description("manage the URLs that events are sent to"),
    io,
    end,
  );
  addPushCommands(
    program.command("push").description("manage the devices that messages are pushed to"),
    io,
    end,
  );
  addAttachmentCommands(program.command("attachments").description("manage files"), io, end);
  program
    .command("upload")
    .argument("<file...>", "files to upload; - for standard input")
    .option("--to <conversation>", `${CONVERSATION} (default: your notes to self)`)
    .option("--name <filename>", "name of the file on the server (default: its own name)")
    .option("--strip-metadata", "remove from pictures where, when and with what they were taken")
    .option(...JSON_OPTION)
    .description("upload files, to a contact, a group or your notes")
    .action(async (files, options) => end(await (await import("./upload.ts")).upload(io, files, options)));
  program
    .command("download")
    .argument("[id...]", "ids of the files (att_…)")
    .option("--with <conversation>", `all files of this conversation: ${CONVERSATION}`)
    .option("-o, --output <file>", "a file, a folder, or - for standard output (default: its filename)")
    .option("--force", "overwrite an existing file")
    .option(...JSON_OPTION)
    .description("download a file, or several as one ZIP")
    .action(async (ids, options) => end(await (await import("./download.ts")).download(io, ids, options)));
}

function addContactCommands(contacts: Command, io: Io, end: End): void {
  contacts
    .command("list")
    .option("--blocked", "only blocked contacts")
    .option(...LIMIT)
    .option(...JSON_OPTION)
    .description("list your contacts, newest first")
    .action(async (options) =>
      end(await (await import("./contacts.ts")).listContacts(io, undefined, options)),
    );
  contacts
    .command("search")
    .argument("<text>", "beginnings of words of the username or name, or digits of the phone number")
    .option(...LIMIT)
    .option(...JSON_OPTION)
    .description("search contacts")
    .action(async (text, options) =>
      end(await (await import("./contacts.ts")).listContacts(io, text, options)),
    );
  contacts
    .command("add")
    .argument("<username>")
    .argument("<phone>", "phone number")
    .option("--name <text>", "your name for the contact")
    .option("--avatar <url>", "URL of a picture")
    .option(...JSON_OPTION)
    .description("add a contact")
    .action(async (username, phone, options) =>
      end(await (await import("./contacts.ts")).addContact(io, username, phone, options)),
    );
  contacts
    .command("rename")
    .argument("<contact>", CONTACT)
    .argument("<name>", 'your name for the contact; "" for none')
    .option(...JSON_OPTION)
    .description("rename a contact")
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
    .description("remove a contact, and your side of the conversation with its files")
    .action(async (who, options) =>
      end(await (await import("./contacts.ts")).removeContact(io, who, options)),
    );
  contacts
    .command("block")
    .argument("<contact>", CONTACT)
    .option(...JSON_OPTION)
    .description("block a contact: nothing that they send reaches you")
    .action(async (who, options) =>
      end(await (await import("./contacts.ts")).blockContact(io, who, options)),
    );
  contacts
    .command("unblock")
    .argument("<contact>", CONTACT)
    .option(...JSON_OPTION)
    .description("unblock a contact")
    .action(async (who, options) =>
      end(await (await import("./contacts.ts")).unblockContact(io, who, options)),
    );
}

function addGroupCommands(groups: Command, io: Io, end: End): void {
  groups
    .command("list")
    .option(...LIMIT)
    .option(...JSON_OPTION)
    .description("list your groups and invitations, newest first")
    .action(async (options) => end(await (await import("./groups.ts")).listGroups(io, options)));
  groups
    .command("create")
    .argument("<name>")
    .option("--invite <username>", "a user to invite, repeatable", collect)
    .addOption(
      new Option("--history <what>", "what new members see: messages from then on, or all")
        .choices(["joined", "all"])
        .default("joined"),
    )
    .option("--description <text>", "what the group is about")
    .option("--avatar <url>", "URL of a picture")
    .option(...JSON_OPTION)
    .description("create a group, and invite users")
    .action(async (name, options) => end(await (await import("./groups.ts")).createGroup(io, name, options)));
  groups
    .command("show")
    .argument("<group>", GROUP)
    .option(...JSON_OPTION)
    .description("show a group")
    .action(async (who, options) => end(await (await import("./groups.ts")).showGroup(io, who, options)));
  groups
    .command("rename")
    .argument("<group>", GROUP)
    .argument("<name>")
    .option(...JSON_OPTION)
    .description("rename a group, as an admin")
    .action(async (who, name, options) =>
      end(await (await import("./groups.ts")).updateGroup(io, who, { ...options, name })),
    );
  groups
    .command("update")
    .argument("<group>", GROUP)
    .option("--description <text>", 'what the group is about; "" for none')
    .option("--avatar <url>", 'URL of a picture; "" for none')
    .option(...JSON_OPTION)
    .description("change description and picture of a group, as an admin")
    .action(async (who, options) => end(await (await import("./groups.ts")).updateGroup(io, who, options)));
  groups
    .command("join")
    .argument("<group>", GROUP)
    .option(...JSON_OPTION)
    .description("accept an invitation")
    .action(async (who, options) => end(await (await import("./groups.ts")).joinGroup(io, who, options)));
  groups
    .command("leave")
    .argument("<group>", GROUP)
    .option(...JSON_OPTION)
    .description("leave a group, or decline an invitation")
    .action(async (who, options) => end(await (await import("./groups.ts")).leaveGroup(io, who, options)));
}

function addMemberCommands(groups: Command, io: Io, end: End): void {
  groups
    .command("members")
    .argument("<group>", GROUP)
    .option(...LIMIT)
    .option(...JSON_OPTION)
    .description("list the members of a group; for admins also those who are invited")
    .action(async (who, options) => end(await (await import("./groups.ts")).listMembers(io, who, options)));
  groups
    .command("invite")
    .argument("<group>", GROUP)
    .argument("<username>")
    .option(...JSON_OPTION)
    .description("invite a user, as an admin")
    .action(async (who, username, options) =>
      end(await (await import("./groups.ts")).inviteMember(io, who, username, options)),
    );
  groups
    .command("role")
    .argument("<group>", GROUP)
    .argument("<member>", MEMBER)
    .addArgument(new Argument("<role>").choices(["admin", "member"]))
    .option(...JSON_OPTION)
    .description("make a member an admin, or an admin an ordinary member, as an admin")
    .action(async (who, whose, role, options) =>
      end(await (await import("./groups.ts")).changeRole(io, who, whose, role, options)),
    );
  groups
    .command("remove")
    .argument("<group>", GROUP)
    .argument("<member>", MEMBER)
    .option(...JSON_OPTION)
    .description("remove a member or withdraw an invitation, as an admin")
    .action(async (who, whom, options) =>
      end(await (await import("./groups.ts")).removeMember(io, who, whom, options)),
    );
}

function addAttachmentCommands(attachments: Command, io: Io, end: End): void {
  attachments
    .command("list")
    .option("--with <conversation>", `only of this conversation: ${CONVERSATION}`)
    .option(...LIMIT)
    .option(...JSON_OPTION)
    .description("list the files in your conversations, newest first")
    .action(async (options) =>
      end(await (await import("./attachments.ts")).listAttachments(io, undefined, options)),
    );
  attachments
    .command("search")
    .argument("<text>", "beginnings of words of the filename")
    .option("--with <conversation>", `only of this conversation: ${CONVERSATION}`)
    .option(...LIMIT)
    .option(...JSON_OPTION)
    .description("search files")
    .action(async (text, options) =>
      end(await (await import("./attachments.ts")).listAttachments(io, text, options)),
    );
  attachments
    .command("rename")
    .argument("<id>", "id of the file (att_…)")
    .argument("<filename>")
    .option(...JSON_OPTION)
    .description("rename a file that you uploaded")
    .action(async (id, filename, options) =>
      end(await (await import("./attachments.ts")).renameAttachment(io, id, filename, options)),
    );
  attachments
    .command("remove")
    .argument("<id>", "id of the file (att_…)")
    .option(...JSON_OPTION)
    .description("delete a file that you uploaded, for everyone")
    .action(async (id, options) =>
      end(await (await import("./attachments.ts")).removeAttachment(io, id, options)),
    );
}
