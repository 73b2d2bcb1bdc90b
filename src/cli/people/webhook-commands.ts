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
    .argument("<url>", "where to send events, by HTTPS")
    .option("--event <type>", "only this type, such as message.created, repeatable (default: all)", collect)
    .option("--all-users", "the events of all users, with a token that has the scope admin")
    .option(...JSON_OPTION)
    .description("send events to a URL, and print the secret that signs them")
    .action(async (url, options) => end(await (await load()).addWebhook(io, url, options)));
  webhooks
    .command("update")
    .argument("<id>", WEBHOOK)
    .option("--url <url>", "where to send events")
    .option("--event <type>", "only this type, repeatable", collect)
    .option("--disable", "send nothing more")
    .addOption(new Option("--enable", "send again, first what waits").conflicts("disable"))
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
