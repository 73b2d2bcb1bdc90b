// A network between two processes of this machine. It is part of the load process, which never sleeps during a round: a
// timer can be late by a millisecond.
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Relays connections to a port, delays all bytes by so many milliseconds each way, and returns the relay's own port. */
export async function startRelay(stack: AsyncDisposableStack, target: number, ms: number): Promise<number> {
  const delay = delayBy(ms);
  const sockets = new Set<Socket>();
  const pipe = (from: Socket, to: Socket) => {
    sockets.add(from);
    from.on("data", (bytes) => delay(() => void to.write(bytes)));
    from.on("error", () => {});
    from.once("close", () => {
      sockets.delete(from);
      delay(() => to.destroy());
    });
  };
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ port: target, host: "127.0.0.1", noDelay: true });
    pipe(client, upstream);
    pipe(upstream, client);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  stack.defer(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

/** Delays each delivery by the same time, so that they stay in order. */
function delayBy(ms: number): (deliver: () => void) => void {
  const pending: { due: number; deliver: () => void }[] = [];
  const pump = () => {
    while (pending.length > 0 && pending[0]!.due <= performance.now()) pending.shift()!.deliver();
    if (pending.length > 0) setImmediate(pump);
  };
  return (deliver) => {
    if (pending.push({ due: performance.now() + ms, deliver }) === 1) setImmediate(pump);
  };
}
