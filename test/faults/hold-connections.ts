// A process that holds idle connections: node hold-connections.ts URL COUNT. It prints "held" once each of them has got
// an answer, and ends with its standard input.
import { once } from "node:events";
import { connect } from "node:net";

const AT_ONCE = 100;
const { hostname, port } = new URL(process.argv[2]!);
const count = Number(process.argv[3]);

async function hold(): Promise<void> {
  const socket = connect(Number(port), hostname);
  socket.write("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
  await once(socket, "data");
  socket.on("close", () => {
    process.stderr.write("a connection was closed\n");
    process.exit(1);
  });
}

for (let held = 0; held < count; held += AT_ONCE) {
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - held) }, hold));
}
process.stdout.write("held\n");
process.stdin.resume().on("end", () => process.exit());
