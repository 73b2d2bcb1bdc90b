import type { Command } from "commander";
import type { Io } from "../io.ts";
import { type End, JSON_OPTION, LIMIT } from "./command-options.ts";

const load = () => import("./push.ts");

/** Adds the commands about the devices that messages are pushed to. */
export function addPushCommands(push: Command, io: Io, end: End): void {
  push
    .command("list")
    .option(...LIMIT)
    .option(...JSON_OPTION)
    .description("list push subscriptions, newest first")
    .action(async (options) => end(await (await load()).listSubscriptions(io, options)));
  push
    .command("add")
    .argument("<endpoint>", "HTTPS address of the device at its push service")
    .requiredOption("--p256dh <key>", "public key of the device, in base64url")
    .requiredOption("--auth <secret>", "secret of the device, in base64url")
    .option(...JSON_OPTION)
    .description("push new messages to a device, and print the id")
    .action(async (endpoint, options) => end(await (await load()).addSubscription(io, endpoint, options)));
  push
    .command("remove")
    .argument("<id>", "id of the push subscription (psh_…)")
    .option(...JSON_OPTION)
    .description("remove a push subscription")
    .action(async (id, options) => end(await (await load()).removeSubscription(io, id, options)));
}
