import { type Command, Option } from "commander";
import type { Io } from "../io.ts";
import { collect, type End, JSON_OPTION, LIMIT } from "./command-options.ts";

const WEBHOOK = "id of the webhook (whk_…)";
const load = () => import("./webhooks.ts");

/** Adds the commands about the URLs that events are sent to. */
export function addWebhookCommands(webhooks: Command, io: Io, end: End): void {
  webhooks
    .command("list")
    .option(...LIMIT)
    .option(...JSON_OPTION)
    .description("list webhooks, newest first")
    .action(async (options) => end(await (await load()).listWebhooks(io, options)));
  webhooks
    .command("add")
    .argument("<url>", "HTTPS address to send events to")
    .option("--event <type>", "only this type, such as message.created, repeatable (default: all)", collect)
    .option("--all-users", "send the events of all users; your token needs the scope admin")
    .option(...JSON_OPTION)
    .description("send events to a URL, and print the id and the secret that signs them")
    .action(async (url, options) => end(await (await load()).addWebhook(io, url, options)));
  webhooks
    .command("update")
    .argument("<id>", WEBHOOK)
    .option("--url <url>", "new HTTPS address to send events to")
    .option("--event <type>", "only this type, such as message.created, repeatable", collect)
    .option("--disable", "stop sending events")
    .addOption(new Option("--enable", "send events again, the waiting ones first").conflicts("disable"))
    .option(...JSON_OPTION)
    .description("change a webhook")
    .action(async (id, options) => end(await (await load()).updateWebhook(io, id, options)));
  webhooks
    .command("remove")
    .argument("<id>", WEBHOOK)
    .option(...JSON_OPTION)
    .description("remove a webhook")
    .action(async (id, options) => end(await (await load()).removeWebhook(io, id, options)));
  webhooks
    .command("test")
    .argument("<id>", WEBHOOK)
    .option(...JSON_OPTION)
    .description("send a test event")
    .action(async (id, options) => end(await (await load()).testWebhook(io, id, options)));
  webhooks
    .command("deliveries")
    .argument("<id>", WEBHOOK)
    .option(...LIMIT)
    .option(...JSON_OPTION)
    .description("list deliveries, newest first, with the last answer or error")
    .action(async (id, options) => end(await (await load()).listDeliveries(io, id, options)));
}
