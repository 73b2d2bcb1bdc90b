// A client of XMPP with as much as the bench needs (RFC 6120 and 6121, XEP-0077), without TLS.
import { once } from "node:events";
import { connect, type Socket } from "node:net";

export const DOMAIN = "localhost";
const HEADER = `<?xml version='1.0'?><stream:stream to='${DOMAIN}' version='1.0' xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>`;
const SASL = "urn:ietf:params:xml:ns:xmpp-sasl";
const PASSWORD = "password";
const ANSWER_MS = 20_000;

/** One stream, of one user who is online. */
export class XmppClient {
  readonly #socket: Socket;
  #received = "";
  /** Called for each message with a text. */
  onMessage: () => void = () => {};

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding("utf8");
  }

  /** Registers a user, and signs in. */
  static async open(port: number, username: string): Promise<XmppClient> {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    await once(socket, "connect");
    const client = new XmppClient(socket);
    const fields = `<username>${username}</username><password>${PASSWORD}</password>`;
    const plain = Buffer.from(`\0${username}\0${PASSWORD}`).toString("base64");
    await client.#ask(HEADER, "</stream:features>");
    await client.#request(`<query xmlns='jabber:iq:register'>${fields}</query>`);
    await client.#ask(`<auth xmlns='${SASL}' mechanism='PLAIN'>${plain}</auth>`, "<success");
    await client.#ask(HEADER, "</stream:features>");
    await client.#request("<bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/>");
    // The server sends it back once the user is online.
    await client.#ask("<presence/>", "<presence");
    client.#received = "";
    socket.on("data", (text: string) => client.#take(text));
    return client;
  }

  /** The text must not need escaping. */
  send(username: string, id: string, text: string): void {
    const body = `<body>${text}</body>`;
    this.#socket.write(`<message to='${username}@${DOMAIN}' type='chat' id='${id}'>${body}</message>`);
  }

  close(): void {
    this.#socket.destroy();
  }

  async #request(payload: string): Promise<void> {
    const answer = await this.#ask(`<iq type='set' id='set'>${payload}</iq>`, "<iq ");
    if (!/type=['"]result['"]/.test(answer)) throw new Error(`XMPP: ${payload} was answered ${answer}`);
  }

  /** Sends something and waits for what must come. */
  async #ask(text: string, wanted: string): Promise<string> {
    this.#received = "";
    this.#socket.write(text);
    const signal = AbortSignal.timeout(ANSWER_MS);
    while (!this.#received.includes(wanted)) {
      const [more] = await once(this.#socket, "data", { signal }).catch(() => {
        throw new Error(`XMPP: ${wanted} did not come after ${text}, but ${this.#received}`);
      });
      this.#received += more;
    }
    return this.#received;
  }

  #take(text: string): void {
    this.#received += text;
    const parts = this.#received.split("</message>");
    this.#received = parts.pop()!;
    for (const part of parts) if (part.includes("<body")) this.onMessage();
  }
}
