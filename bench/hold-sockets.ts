// A process that holds WebSockets which get no events: node hold-sockets.ts PORT. The first line of its standard input is a
// JSON array with the token of each. It prints "held" once all are open, and ends with its standard input.
import { once } from "node:events";
import { createInterface } from "node:readline";
import { openWebSocket } from "./people.ts";

const AT_ONCE = 50;
const port = Number(process.argv[2]);
const nothing = { add() {} };
const input = createInterface(process.stdin);
const [line] = (await once(input, "line")) as [string];
const tokens = JSON.parse(line) as string[];

input.on("close", () => process.exit());
for (let held = 0; held < tokens.length; held += AT_ONCE) {
  const opening = tokens
    .slice(held, held + AT_ONCE)
    .map((token) => openWebSocket(port, { authorization: `Bearer ${token}` }, "contact.created", nothing));
  await Promise.all(opening);
}
process.stdout.write("held\n");
