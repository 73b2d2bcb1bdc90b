// The back end of a shop, as its developers would write it: it knows the client and nothing else of Parley.
import { Parley } from "../../../packages/parley-client/src/index.ts";
import { createToken } from "../../../packages/parley-client/src/server.ts";

export interface ShopSettings {
  url: string;
  /** With `admin` and `act_as`. The only token that the back end has. */
  token: string;
  jwt: { secret: string; issuer: string; audience: string };
}

const AT_ONCE = 16;

export class Shop {
  readonly #parley: Parley;
  readonly #jwt: ShopSettings["jwt"];

  constructor({ url, token, jwt }: ShopSettings) {
    this.#parley = new Parley({ url, token });
    this.#jwt = jwt;
  }

  /** Imports lines of subject, username, phone number and helper. Can be repeated. */
  async importCustomers(csv: string): Promise<void> {
    const waiting = csv.trim().split("\n").slice(1);
    const worker = async () => {
      for (let line = waiting.pop(); line !== undefined; line = waiting.pop())
        await this.#importCustomer(line);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  }

  async #importCustomer(line: string): Promise<void> {
    const [subject, username, phone_number, helper] = line.split(",") as [string, string, string, string];
    await this.#parley.users.create({ subject, username, phone_number }, { idempotencyKey: subject });
    await this.#parley
      .as(`username:${username}`)
      .contacts.create({ username: helper, mutual: true }, { idempotencyKey: subject });
  }

  async addStaff(subject: string, username: string): Promise<void> {
    await this.#parley.users.create({ subject, username }, { idempotencyKey: subject });
  }

  /** Returns a token for the user who is signed in to the shop. */
  signIn(subject: string, name: string, picture: string): Promise<string> {
    const { secret, issuer, audience } = this.#jwt;
    return createToken(secret, { sub: subject, name, picture, issuer, audience });
  }

  /** Opens the conversation of an order, with all who take part. */
  openOrder(number: number, opener: string, members: string[]) {
    return this.#parley
      .as(`username:${opener}`)
      .groups.create({ name: `Order ${number}`, members, joined: true });
  }

  /** Creates a bot that answers the first message of each person, and runs it until the signal. */
  async runBot(username: string, signal: AbortSignal, ready: () => void): Promise<void> {
    await this.#parley.users.create({
      username,
      kind: "bot",
      accepts_everyone: true,
      display_name: "Help desk",
    });
    const bot = this.#parley.as(`username:${username}`);
    const after = await bot.events.cursor();
    ready();
    const answered = new Set<string>();
    for await (const event of bot.events.stream({ after, types: ["message.created"], signal })) {
      // The payload has only ids if the message was deleted meanwhile.
      if (event.type !== "message.created" || !("sender" in event.payload)) continue;
      const { conversation_id, sender } = event.payload;
      if (sender?.kind !== "person" || answered.has(sender.id)) continue;
      answered.add(sender.id);
      const text = `Hello ${sender.display_name ?? sender.username}, we answer soon.`;
      await bot.messages.create({ conversation_id, text }, { idempotencyKey: event.id });
    }
  }
}
