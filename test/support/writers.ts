// The load under which faults happen: contacts and files are made, changed and deleted.
import { createHash, randomBytes } from "node:crypto";
import type { Answer, Client } from "./client.ts";
import type { AckRecord, Kind, State } from "./record.ts";
import type { Chance } from "./scale.ts";

/** So many are kept; beyond, writers delete rather than make. */
const KEPT: Record<Kind, number> = { contacts: 2000, attachments: 200 };
const MAX_FILE_BYTES = 300_000;
const REFUSED_PAUSE_MS = 5;

/** How many write at a time: all there is, or nothing but contacts, which is quick. */
export interface WriterCounts {
  mixed: number;
  contacts?: number;
}

export interface Writers {
  /** Resolves once all have ended, because the server is gone or `stop` was called. */
  readonly ended: Promise<unknown>;
  stop(): Promise<unknown>;
  /** Answers by their status. */
  readonly statuses: ReadonlyMap<number, number>;
  /** Acknowledgements of requests that were sent after some answer was a 5xx. */
  late(): number;
}

export function startWriters(
  client: Client,
  record: AckRecord,
  chance: Chance,
  counts: WriterCounts,
): Writers {
  let stopped = false;
  let failed = false;
  let late = 0;
  const statuses = new Map<number, number>();

  async function send(answered: Promise<Answer>): Promise<Answer> {
    const wasFailed = failed;
    const answer = await answered;
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    const isUnknown = answer.status === 503 && answer.body.includes('"outcome_unknown"');
    if (answer.status === 503 && !isUnknown && answer.headers["retry-after"] === undefined) {
      throw new Error("a 503 does not say when to try again");
    }
    if (answer.status >= 500) failed = true;
    else if (wasFailed && answer.status < 300) late++;
    return answer;
  }

  async function run(act: (writes: Writes, chance: Chance) => Promise<Answer>): Promise<void> {
    const writes = new Writes(client, record, send);
    try {
      while (!stopped) {
        const { status } = await act(writes, chance);
        if (status >= 500) await new Promise((resolve) => setTimeout(resolve, REFUSED_PAUSE_MS));
        else if (status >= 400) throw new Error(`a write that is right was answered ${status}`);
      }
    } catch (error) {
      // The server is gone, which is what these wait for.
      if (!isCut(error)) throw error;
    }
  }

  const runs = [
    ...Array.from({ length: counts.mixed }, () => run(anything)),
    ...Array.from({ length: counts.contacts ?? 0 }, () => run(makeContact)),
  ];
  const ended = Promise.all(runs);
  return {
    ended,
    stop() {
      stopped = true;
      return ended;
    },
    statuses,
    late: () => late,
  };
}

/** Whether a connection ended, rather than that the test or the server did something wrong. */
export function isCut(error: unknown): boolean {
  return ["ECONNRESET", "ECONNREFUSED", "EPIPE"].includes((error as NodeJS.ErrnoException).code ?? "");
}

function makeContact(writes: Writes, chance: Chance): Promise<Answer> {
  return writes.isFull("contacts") ? writes.remove("contacts", chance) : writes.makeContact();
}

function anything(writes: Writes, chance: Chance): Promise<Answer> {
  const kind: Kind = chance() < 0.5 ? "contacts" : "attachments";
  const what = writes.isFull(kind) ? 0.9 : chance();
  if (what > 0.75) return writes.remove(kind, chance);
  if (what > 0.5) return writes.rename(kind, chance);
  return kind === "contacts" ? writes.makeContact() : writes.upload(chance);
}

/** Single writes, each noted in the record with its outcome. They reject where the connection ends. */
export class Writes {
  readonly #client: Client;
  readonly #record: AckRecord;
  readonly #send: (answered: Promise<Answer>) => Promise<Answer>;

  /** `send` may watch the answers. */
  constructor(
    client: Client,
    record: AckRecord,
    send: (answered: Promise<Answer>) => Promise<Answer> = (answered) => answered,
  ) {
    this.#client = client;
    this.#record = record;
    this.#send = send;
  }

  isFull(kind: Kind): boolean {
    return this.#record.idle(kind) >= KEPT[kind];
  }

  async makeContact(): Promise<Answer> {
    const name = randomName();
    const fields = { username: name, phone_number: "+15550100", display_name: name };
    return this.#make("contacts", name, this.#client.sendFields("POST", "/v1/contacts", fields));
  }

  /** Many are small and kept in the database, one in ten is empty, few are large. */
  async upload(chance: Chance, minBytes = 0): Promise<Answer> {
    const name = randomName();
    const size = minBytes + (chance() < 0.1 ? 0 : Math.floor(chance() ** 3 * MAX_FILE_BYTES));
    const bytes = randomBytes(size);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    return this.#make("attachments", name, this.#client.upload(name, bytes), sha256);
  }

  rename(kind: Kind, chance: Chance): Promise<Answer> {
    const name = randomName();
    const fields = kind === "contacts" ? { display_name: name } : { filename: name };
    return this.#change(kind, chance, name, (path) => this.#client.sendFields("PUT", path, fields));
  }

  remove(kind: Kind, chance: Chance): Promise<Answer> {
    return this.#change(kind, chance, null, (path) => this.#client.send("DELETE", path));
  }

  async #make(kind: Kind, state: string, sent: Promise<Answer>, sha256?: string): Promise<Answer> {
    try {
      const answer = await this.#send(sent);
      if (answer.status === 201) {
        this.#record.made(kind, JSON.parse(answer.body.toString()).id, state, sha256);
      } else if (leavesOpen(answer)) this.#record.unanswered();
      else this.#record.notMade.add(state);
      return answer;
    } catch (error) {
      this.#record.unanswered();
      throw error;
    }
  }

  async #change(
    kind: Kind,
    chance: Chance,
    state: State,
    change: (path: string) => Promise<Answer>,
  ): Promise<Answer> {
    const item = this.#record.take(kind, chance);
    if (!item) return this.makeContact();
    item.states.push(state);
    try {
      const answer = await this.#send(change(`/v1/${kind}/${item.id}`));
      if (answer.status < 300) this.#record.acknowledged(item, state);
      else if (leavesOpen(answer)) this.#record.unanswered();
      else this.#record.refused(item);
      return answer;
    } catch (error) {
      this.#record.unanswered();
      throw error;
    }
  }
}

/** `disk_full` and `unavailable` promise that nothing was done; other failures promise nothing. */
function leavesOpen({ status, body }: Answer): boolean {
  if (status !== 503) return status >= 500 && status !== 507;
  return (JSON.parse(body.toString()) as { code: string }).code !== "unavailable";
}

function randomName(): string {
  return randomBytes(8).toString("hex");
}
