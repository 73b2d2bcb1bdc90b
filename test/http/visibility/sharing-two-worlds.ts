// Two servers on which the same users do the same. On the hidden one, others also block, leave, hide, mute and read
// in secret: both servers must give Bob byte-identical answers.
import assert from "node:assert/strict";
import type { Caller } from "../../../src/core/node/caller.ts";
import type { Core } from "../../../src/core/node/core.ts";
import { createToken, SCOPES } from "../../../src/core/people/tokens.ts";
import { createUser } from "../../../src/core/people/users.ts";
import { findProfileChange } from "../../../src/db/queries/people/profile-readers.ts";
import { hasRemains } from "../../../src/db/queries/upkeep/erasing.ts";
import { sql } from "../../../src/db/sql.ts";
import { ParleyError } from "../../../src/errors.ts";
import { type IdKind, idOfBits } from "../../../src/util/ids.ts";
import type { TestApp } from "../../support/app.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { hook, LIMITS } from "../../support/hooks.ts";
import type { Receiver } from "../../support/receiver.ts";
import type { Clock } from "./sharing-world.ts";

/** The origin of both servers in their links. */
export const PUBLIC_URL = "http://parley.test";
export const TWIN_LIMITS = { ...LIMITS, erasedRowsAtOnce: 5, messagesReadAtOnce: 0 };
/** The users whose actions differ. */
export const OTHERS = ["ann", "cat"];
/** Headers that differ between any two answers. */
const UNCOMPARED = ["date", "connection", "keep-alive", "transfer-encoding"];

/** An answer as text: status, headers and bytes. */
export type Answer = string;

export interface Request {
  method: string;
  path: string;
  body?: object | FormData;
  headers?: Record<string, string>;
  /** Without a token, like anyone with the link. */
  isOpen?: boolean;
}

/** One of the two servers, and the users of a run on it. */
export class Twin {
  readonly server: TestApp;
  readonly #made = new Map<IdKind, number>();
  readonly callers = new Map<string, Caller>();
  readonly names = new Map<string, string>();
  #token = "";
  #hooked: { receiver: Receiver; skip: number; events: number } | undefined;

  constructor(server: TestApp, clock: Clock) {
    this.server = server;
    // Makes ids from the time and a count, so that both servers make the same ones.
    this.core.newId = (kind) => {
      const count = (this.#made.get(kind) ?? 0) + 1;
      this.#made.set(kind, count);
      return idOfBits(kind, clock.now, BigInt(count) << 62n);
    };
  }

  get core(): Core {
    return this.server.app.core;
  }

  get bob(): Caller {
    return this.callers.get("bob")!;
  }

  /** Starts a step: ids count from one. */
  begin(): void {
    this.#made.clear();
  }

  async makeUsers(run: number): Promise<void> {
    this.#hooked = undefined;
    for (const name of ["bob", ...OTHERS]) {
      const username = `${name}${run}`;
      const { id } = await createUser(this.core, null, { username });
      this.names.set(name, username);
      this.callers.set(name, { userId: id, tokenId: null, scopes: new Set(SCOPES), actedById: null });
    }
    const { token } = await createToken(this.core, null, this.bob.userId, {});
    this.#token = token;
  }

  /** Sends Bob's events to the receiver from now on. */
  async addHook(receiver: Receiver): Promise<void> {
    const headers = { authorization: `Bearer ${this.#token}` };
    await hook({ ...this.server, url: this.#origin }, { id: "", token: "", headers }, receiver);
    this.#hooked = { receiver, skip: receiver.received.length, events: await this.#countEvents() };
  }

  /** Returns all deliveries of Bob's webhook since it was added, once they have arrived. */
  async delivered(): Promise<string[]> {
    if (!this.#hooked) return [];
    const { receiver, skip, events } = this.#hooked;
    await receiver.wait(skip + (await this.#countEvents()) - events);
    return receiver.received.slice(skip).map(({ body }) => body);
  }

  async #countEvents(): Promise<number> {
    const row = await this.core.db.get<{ count: number }>(
      sql`SELECT COUNT(*) AS count FROM events WHERE recipient_id = ${this.bob.userId}`,
    );
    return Number(row!.count);
  }

  get #origin(): string {
    return `http://127.0.0.1:${this.server.app.port()}`;
  }

  /** Sends a request as Bob. */
  async ask({ method, path, body, headers = {}, isOpen = false }: Request): Promise<Answer> {
    const sent: Record<string, string> = { ...headers };
    if (!isOpen) sent.authorization = `Bearer ${this.#token}`;
    const isJson = body !== undefined && !(body instanceof FormData);
    if (isJson) sent["content-type"] = "application/json";
    const answer = await fetch(this.#origin + path, {
      method,
      headers: sent,
      body: isJson ? JSON.stringify(body) : ((body as FormData | undefined) ?? null),
      redirect: "manual",
    });
    // The ETag of /v1/me also depends on the push key of the server.
    const uncompared = path === "/v1/me" ? [...UNCOMPARED, "etag"] : UNCOMPARED;
    const shown = [...answer.headers].filter(([name]) => !uncompared.includes(name));
    const bytes = Buffer.from(await answer.arrayBuffer()).toString("latin1");
    const text = [answer.status, ...shown.map((each) => each.join(": ")), "", bytes].join("\n");
    return text.replace(/"push_public_key":"[^"]+"/, '"push_public_key":"of this server"');
  }

  /** Acts as another user, without a request that Bob would see as activity. Returns false if it is impossible. */
  async does(act: (core: Core, twin: Twin) => Promise<unknown>): Promise<boolean> {
    try {
      await act(this.core, this);
      return true;
    } catch (error) {
      if (error instanceof ParleyError) return false;
      throw error;
    }
  }

  /** Returns the other user's contact for Bob. */
  contactOf(name: string): Promise<{ id: string; conversation_id: string } | undefined> {
    return this.core.db.get(
      sql`SELECT id, conversation_id FROM contacts WHERE owner_id = ${this.callers.get(name)!.userId}
        AND username_key = ${this.names.get("bob")!}`,
    );
  }

  async isMember(name: string, groupId: string): Promise<boolean> {
    const { userId } = this.callers.get(name)!;
    const row = await this.core.db.get(
      sql`SELECT 1 AS one FROM members WHERE group_id = ${groupId} AND user_id = ${userId}`,
    );
    return row !== undefined;
  }

  /** Waits for background work. */
  async settle(): Promise<void> {
    const { db } = this.core;
    assert.ok(await eventually(async () => !(await hasRemains(db))), "the eraser has no end");
    assert.ok(await eventually(async () => (await findProfileChange(db, "")) === undefined));
    while ((await db.write("numberEvents", { limit: 100 })) > 0);
  }
}

/** Both servers. */
export class Twins {
  readonly plain: Twin;
  readonly hidden: Twin;
  readonly #clock: Clock;
  /** The ids that Bob has met, by kind, oldest first. */
  readonly known = new Map<string, string[]>();
  /** The links that Bob has met, without their origin, oldest first. */
  readonly links: string[] = [];

  constructor(plain: Twin, hidden: Twin, clock: Clock) {
    this.plain = plain;
    this.hidden = hidden;
    this.#clock = clock;
  }

  /** The step is not a divisor of a minute, and short enough that links do not expire within a run. */
  async step(): Promise<void> {
    const both = [this.plain, this.hidden];
    await Promise.all(both.map((twin) => twin.settle()));
    this.#clock.now += 17_300;
    for (const twin of both) twin.begin();
  }

  /** Sends a request to both as Bob, and compares the answers. */
  async ask(request: Request): Promise<Answer> {
    const [plain, hidden] = await Promise.all([this.plain.ask(request), this.hidden.ask(request)]);
    const { method, path, body } = request;
    assert.equal(
      ...withoutPeers(hidden, plain),
      `step ${this.#clock.now} ${method} ${path} ${body instanceof FormData ? "a form" : JSON.stringify(body)}`,
    );
    this.#learn(plain);
    return plain;
  }

  /** Acts on both servers, or on neither if the hidden one makes it impossible. */
  async bothDo(act: (core: Core, twin: Twin) => Promise<unknown>): Promise<boolean> {
    if (!(await this.hidden.does(act))) return false;
    assert.ok(await this.plain.does(act), "only the hidden one could");
    return true;
  }

  async compareDeliveries(): Promise<void> {
    const [plain, hidden] = await Promise.all([this.plain.delivered(), this.hidden.delivered()]);
    assert.deepEqual(...withoutPeers(hidden.join("\n"), plain.join("\n")), "what the webhook was sent");
  }

  #learn(answer: Answer): void {
    for (const [id, kind] of answer.matchAll(/\b(con|att|msg|cnv|grp|mem)_[0-9a-z]{26}\b/g)) {
      const known = this.known.get(kind!) ?? [];
      if (!known.includes(id)) known.push(id);
      this.known.set(kind!, known);
    }
    for (const [, link] of answer.matchAll(/"(?:file_url|url)":"http:\/\/parley\.test(\/[^"]+)"/g))
      if (!this.links.includes(link!)) this.links.push(link!);
  }

  /** Picks something that Bob has met, mostly one of the latest. */
  pick(kind: string, number: number): string {
    return pick(this.known.get(kind) ?? [], number) ?? `${kind}_01h455vb4pex5vsknk084sn02q`;
  }
}

/** Returns a display name of a user whose actions differ. */
export function toName(number: number): string {
  return `Name ${number % 5}`;
}

const OF_PEER = /"profile_name":"Name \d"|"name":"Name \d"/;

/**
 * Removes what contacts and their conversations show of their users, like `last_active_at`, only while these have Bob and do not
 * block him, and the headers that depend on it.
 */
function withoutPeers(...answers: [Answer, Answer]): [Answer, Answer] {
  if (!answers.some((answer) => OF_PEER.test(answer))) return answers;
  return answers.map((answer) =>
    answer
      .replace(/^(?:etag|content-length): .*\n/gm, "")
      .replace(/"profile_name":(?:null|"Name \d")/g, '"profile_name":"?"')
      .replace(/"name":"(?:Name \d|(?:ann|cat)\d+)"/g, '"name":"?"'),
  ) as [Answer, Answer];
}

export function pick<T>(all: readonly T[], number: number): T | undefined {
  const near = number % 4 > 0 ? 6 : all.length;
  return all.at(-1 - (Math.floor(number / 4) % Math.max(1, Math.min(near, all.length))));
}
