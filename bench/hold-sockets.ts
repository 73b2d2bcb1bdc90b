// A process that holds WebSockets which get no events: node hold-sockets.ts PORT COUNT TOKEN. It prints "held" once all are
// open, and ends with its standard input.
import { openWebSocket } from "./people.ts";

const AT_ONCE = 50;
const [port, count, token] = process.argv.slice(2) as [string, string, string];
const headers = { authorization: `Bearer ${token}` };
const nothing = { add() {} };

for (let held = 0; held < Number(count); held += AT_ONCE) {
  const opening = Array.from({ length: Math.min(AT_ONCE, Number(count) - held) }, () =>
    openWebSocket(Number(port), headers, "contact.created", nothing),
  );
  await Promise.all(opening);
}
process.stdout.write("held\n");
process.stdin.resume().on("end", () => process.exit());
