// Users of a server beside the model of docs/sharing.md, to compare both.
import assert from "node:assert/strict";
import { createToken } from "../../../src/core/people/tokens.ts";
import { createUser, deleteUser } from "../../../src/core/people/users.ts";
import { sql } from "../../../src/db/sql.ts";
import type { TestApp, TestUser } from "../../support/app.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { Groups } from "./group-model.ts";
import { Model } from "./sharing-model.ts";
import type { Message, User } from "./sharing-types.ts";

/** The suffix of ids that do not exist. */
export const UNKNOWN = "01h455vb4pex5vsknk084sn02q";

export interface Clock {
  now: number;
}

export type Shown = Record<string, unknown>;
export interface Page {
  has_more: boolean;
  data: Shown[];
}

/** The state of a client that reads lists only once, when its user joins. */
export interface Rebuilt {
  /** Messages by id, by conversation. */
  messages: Map<string, Map<string, Shown>>;
  groups: Map<string, Shown>;
  /** Members by id, by group. */
  members: Map<string, Map<string, Shown>>;
  /** The user's value when everything was last read. */
  blockChanges: number;
}

let worlds = 0;

/** Repeats a write that is refused for too many conflicts with others. */
async function untilFree<T>(write: () => Promise<T>): Promise<T> {
  let result: { value: T } | undefined;
  const isDone = () =>
    write().then(
      (value) => {
        result = { value };
        return true;
      },
      (error) => {
        if (error.code !== "unavailable") throw error;
        return false;
      },
    );
  assert.ok(await eventually(isDone), "it is refused again and again");
  return result!.value;
}

export class World {
  readonly model = new Model();
  readonly groups = new Groups(this.model);
  readonly server: TestApp;
  readonly clock: Clock;
  /** Messages sent with an Idempotency-Key or a `client_id`, each with its headers and its fields. */
  readonly repeatable = new Map<
    Message,
    { headers: Record<string, string>; fields: object | FormData; again: 200 | 201 }
  >();
  /** The last event that each user got. */
  readonly lastEvents = new Map<User, Shown>();
  /** A user whose token has the scope `act_as`. */
  readonly backEnd: TestUser | undefined;
  /** How often the back end did what others cannot. */
  readonly acted: Record<string, number> = {};
  #asked = 0;
  /** The state of each user's client, built from events. */
  readonly rebuilt = new Map<User, Rebuilt>();
  readonly names: string[];

  /** With a back end, it sends every third request as the user, and users named bot accept everyone. */
  constructor(server: TestApp, clock: Clock, names: readonly string[], backEnd?: TestUser) {
    const number = ++worlds;
    this.backEnd = backEnd;
    this.server = server;
    this.clock = clock;
    this.names = names.map((name) => `${name}${number}`);
  }

  /** The limit of members of a group. */
  get maxMembers(): number {
    return this.server.config.limits.maxMembers;
  }

  async begin(): Promise<void> {
    for (const name of this.names) await this.make(name);
  }

  async make(name: string): Promise<void> {
    const { core } = this.server.app;
    const accepts_everyone = this.backEnd !== undefined && name.startsWith("bot");
    const user = this.model.makeUser(name, this.clock.now, accepts_everyone);
    user.id = (await untilFree(() => createUser(core, null, { username: name, accepts_everyone }))).id;
    for (let i = 0; i < 2; i++) user.tokens.push((await createToken(core, null, user.id, {})).token);
    const me = (await this.ask(user, "GET", "/v1/me", 200)) as { conversation_id: string };
    user.notes.id = me.conversation_id;
  }

  async erase(user: User): Promise<void> {
    this.model.users.delete(user.name);
    this.groups.eraseUser(user, this.clock.now);
    this.model.eraseUser(user, this.clock.now);
    await untilFree(() => deleteUser(this.server.app.core, null, user.id));
    // Departures from groups take several steps, each of which notifies the others; invitations of the name end
    // before a new user can have it.
    const { db } = this.server.app.core;
    const isDone = async () =>
      (await db.get(sql`SELECT 1 AS one FROM erasing WHERE user_id = ${user.id}`)) === undefined;
    assert.ok(await eventually(isDone), "the eraser has no end");
  }

  /** Sends a request as a user, which counts as activity; checks the status and returns the JSON. */
  async ask(
    user: User,
    method: string,
    path: string,
    status: number,
    body?: object,
    more: Record<string, string> = {},
  ): Promise<unknown> {
    const headers: Record<string, string> = { ...this.#credentials(user), ...more };
    if (body && !(body instanceof FormData)) headers["content-type"] = "application/json";
    const sent = body instanceof FormData ? body : body && JSON.stringify(body);
    const answer = await fetch(this.server.url + path, { method, headers, body: sent ?? null });
    const text = await answer.text();
    assert.equal(answer.status, status, `${method} ${path} of ${user.name}: ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  }

  /** Sends a request of the back end as a user. */
  async act(user: User, method: string, path: string, status: number, body: object): Promise<Shown> {
    this.#asked = 0;
    return (await this.ask(user, method, path, status, body)) as Shown;
  }

  count(what: string): void {
    this.acted[what] = (this.acted[what] ?? 0) + 1;
  }

  /** What the back end does as a user is no activity of that user. */
  #credentials(user: User): Record<string, string> {
    const { model, backEnd } = this;
    if (backEnd && this.#asked++ % 3 === 0 && model.users.get(user.name) === user) {
      const name = this.#asked % 2 ? user.id : `username:${user.name.toUpperCase()}`;
      return { ...backEnd.headers, "parley-act-as": name };
    }
    return { authorization: `Bearer ${user.tokens[user.seenAt.push(this.clock.now) % 2]}` };
  }

  async refused(user: User, method: string, path: string, status: number, code: string, body?: object) {
    const problem = (await this.ask(user, method, path, status, body)) as Shown;
    assert.equal(problem.code, code, `${method} ${path} of ${user.name}`);
    return problem;
  }
}

export function oneOf<T>(all: readonly T[], number: number): T | undefined {
  return all[number % all.length];
}
