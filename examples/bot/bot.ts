// A bot that counts words. It answers each message once, also those that arrived while it was not running.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { Parley, ParleyApiError } from "parley-client";

const [file = "last-event"] = process.argv.slice(2);
const bot = new Parley({ url: process.env.PARLEY_URL!, token: process.env.PARLEY_TOKEN! });

function answer(text: string | null): string {
  const segments = [...new Intl.Segmenter("en", { granularity: "word" }).segment(text ?? "")];
  return `Words: ${segments.filter(({ isWordLike }) => isWordLike).length}`;
}

/** Whether the server refuses this answer for good. After any other failure the bot ends, and tries again at its next start. */
function isRefusal(error: unknown): error is ParleyApiError {
  const status = error instanceof ParleyApiError ? error.status : 0;
  return status >= 400 && status < 500 && status !== 401 && status !== 429;
}

/** Stores the position in one step: a file that is half written would make the bot pass over messages. */
function store(position: string): void {
  writeFileSync(`${file}.new`, position, { flush: true });
  renameSync(`${file}.new`, file);
}

if (!existsSync(file)) store(await bot.events.cursor());
const after = readFileSync(file, "utf8");
for await (const event of bot.events.stream({ after, types: ["message.created"] })) {
  // The payload has only ids if the message was deleted meanwhile.
  if (event.type !== "message.created" || !("sender" in event.payload)) continue;
  const { id, conversation_id, sender, text } = event.payload;
  if (sender?.kind === "person")
    try {
      // With the same client_id the server sends nothing twice: the bot may end before it has stored its position.
      await bot.messages.create({ conversation_id, text: answer(text), client_id: `answer-${id}` });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      console.error(error.detail);
    }
  store(event.id);
}
