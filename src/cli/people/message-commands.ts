import { type Command, Option } from "commander";
import type { Io } from "../io.ts";
import { parseTime } from "../times.ts";
import {
  CONVERSATION,
  collect,
  type End,
  JSON_OPTION,
  LIMIT,
  MESSAGE,
  parseEmoji,
  parseLimit,
} from "./command-options.ts";

/** Adds the commands about conversations and messages. */
export function addMessageCommands(program: Command, io: Io, end: End): void {
  addSendingCommands(program, io, end);
  addChangeCommands(program, io, end);
}

function addSendingCommands(program: Command, io: Io, end: End): void {
  program
    .command("conversations")
    .option("--unread", "only conversations with unread messages")
    .option(...LIMIT)
    .option(...JSON_OPTION)
    .description("list your conversations, the most recent activity first")
    .action(async (options) => end(await (await import("./messages.ts")).listConversations(io, options)));
  program
    .command("messages")
    .argument("<conversation>", CONVERSATION)
    .option(...LIMIT)
    .option(...JSON_OPTION)
    .description("list the messages of a conversation, newest first")
    .action(async (who, options) =>
      end(await (await import("./messages.ts")).listMessages(io, who, options)),
    );
  program
    .command("search")
    .argument("<words...>", "words of the text; the last one can be the beginning of a word")
    .option("--in <conversation>", `only in this conversation: ${CONVERSATION}`)
    .option(...LIMIT)
    .option(...JSON_OPTION)
    .description("search your messages, newest first")
    .action(async (words, options) => end(await (await import("./search.ts")).search(io, words, options)));
  program
    .command("send")
    .argument("<conversation>", CONVERSATION)
    .argument("[text...]", "text of the message, in one or more words; - for standard input")
    .option("--file <file>", "a file to send with it, repeatable up to 10 times", collect)
    .option(...JSON_OPTION)
    .description("send a message, with files")
    .action(async (who, words: string[], options) => {
      const text = words.length === 0 ? undefined : words.join(" ");
      end(await (await import("./messages.ts")).sendMessage(io, who, text, options));
    });
  program
    .command("edit")
    .argument("<message>", MESSAGE)
    .argument("<text...>", "new text, in one or more words")
    .option(...JSON_OPTION)
    .description("change the text of a message that you sent")
    .action(async (id, words: string[], options) =>
      end(await (await import("./messages.ts")).editMessage(io, id, words.join(" "), options)),
    );
}

function addChangeCommands(program: Command, io: Io, end: End): void {
  program
    .command("delete")
    .argument("<message>", MESSAGE)
    .option("--for-me", "delete a message of anybody, only for you")
    .option(...JSON_OPTION)
    .description("delete a message that you sent, for everybody")
    .action(async (id, options) => end(await (await import("./messages.ts")).deleteMessage(io, id, options)));
  program
    .command("react")
    .argument("<message>", MESSAGE)
    .argument("<emoji>", "an emoji, or any other visible character", parseEmoji)
    .option("--remove", "remove your reaction")
    .option(...JSON_OPTION)
    .description("react to a message")
    .action(async (id, emoji, options) =>
      end(await (await import("./messages.ts")).react(io, id, emoji, options)),
    );
  program
    .command("read")
    .argument("<conversation>", CONVERSATION)
    .option(...JSON_OPTION)
    .description("mark a conversation as read, up to its newest message")
    .action(async (who, options) => end(await (await import("./messages.ts")).markRead(io, who, options)));
  program
    .command("mute")
    .argument("<conversation>", CONVERSATION)
    .option(
      "--until <time>",
      "until this time (UTC), such as 2026-03-09T17:30Z (default: for ever)",
      parseTime,
    )
    .addOption(new Option("--off", "unmute now").conflicts("until"))
    .option(...JSON_OPTION)
    .description("turn off notifications about a conversation, except for messages that mention you")
    .action(async (who, options) => end(await (await import("./messages.ts")).mute(io, who, options)));
  program
    .command("readers")
    .argument("<message>", MESSAGE)
    .option(...LIMIT)
    .option(...JSON_OPTION)
    .description("list the users who have read a message")
    .action(async (id, options) => end(await (await import("./messages.ts")).listReaders(io, id, options)));
  program
    .command("chat")
    .argument("<conversation>", CONVERSATION)
    .option("--limit <n>", "number of earlier messages, up to 100 (default: 20)", parseLimit)
    .option(...JSON_OPTION)
    .description("show a conversation live, and send each line that you enter")
    .action(async (who, options) => end(await (await import("./chat.ts")).chat(io, who, options)));
}
