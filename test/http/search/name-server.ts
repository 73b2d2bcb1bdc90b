// A DNS server whose answers a test controls.
import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

const A = 1;
const HEAD_BYTES = 12;
/** An answer with recursion available. */
const ANSWERED = 0x8180;
const NOT_FOUND = 0x8183;
/** Instead of an address: an alias whose target has no address. */
export const ALIAS = "alias";
/** CNAME, IN, TTL 0, three bytes: the name "x". */
const ALIAS_RECORD = [0xc0, HEAD_BYTES, 0, 5, 0, 1, 0, 0, 0, 0, 0, 3, 1, 0x78, 0];

/**
 * Creates resolvers that ask this server. `leads` returns the current IPv4 addresses of a name: none means "not found",
 * undefined means no answer. Names have no other records.
 */
export async function nameServer(
  t: TestContext,
  leads: (name: string) => string[] | undefined,
): Promise<() => Resolver> {
  const socket = createSocket("udp4");
  socket.on("message", (query, { port, address }) => {
    const labels: string[] = [];
    let at = HEAD_BYTES;
    for (; query[at] !== 0; at += query[at]! + 1)
      labels.push(query.toString("latin1", at + 1, at + 1 + query[at]!));
    const question = query.subarray(HEAD_BYTES, at + 5);
    const addresses = leads(labels.join("."));
    if (addresses === undefined) return;
    const answers = query.readUInt16BE(at + 1) === A || addresses.includes(ALIAS) ? addresses : [];
    const head = Buffer.alloc(HEAD_BYTES);
    head.writeUInt16BE(query.readUInt16BE(0), 0);
    head.writeUInt16BE(addresses.length === 0 ? NOT_FOUND : ANSWERED, 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(answers.length, 6);
    // Each answer: the name of the question, A, IN, TTL 0, four bytes.
    const records = answers.map((each) =>
      Buffer.from(
        each === ALIAS
          ? ALIAS_RECORD
          : [0xc0, HEAD_BYTES, 0, A, 0, 1, 0, 0, 0, 0, 0, 4, ...each.split(".").map(Number)],
      ),
    );
    socket.send(Buffer.concat([head, question, ...records]), port, address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  t.after(() => socket.close());
  const { port } = socket.address() as AddressInfo;
  return () => {
    const resolver = new Resolver({ timeout: 3000, tries: 1 });
    resolver.setServers([`127.0.0.1:${port}`]);
    return resolver;
  };
}
