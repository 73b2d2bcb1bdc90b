// The load during faults: contacts, files and messages are created, changed and deleted.
import { createHash, randomBytes } from "node:crypto";
import type { Answer, Client } from "./client.ts";
import { pngChunk, pngHeader } from "./picture-bytes.ts";
import type { AckRecord, Item, Kind, Sending, State } from "./record.ts";
import { addPart, beginUpload } from "./resuming.ts";
import type { Chance } from "./scale.ts";
import { markOf, newSending, newText, noteMessage, sendMessage, stateOf, type Talkers } from "./sending.ts";

/** Beyond these numbers, writers delete instead of create. */
const KEPT: Record<Kind, number> = { contacts: 2000, attachments: 200, messages: 300 };
const MAX_FILE_BYTES = 300_000;
const REFUSED_PAUSE_MS = 5;

/** How many writers run at a time: mixed ones, and fast ones that only create contacts. */
export interface WriterCounts {
  mixed: number;
  contacts?: number;
}

export interface Writers {
  /** Resolves once all have ended, because the server is gone or `stop` was called. */
  readonly ended: Promise<unknown>;
  stop(): Promise<unknown>;
  /** Answers by status. */
  readonly statuses: ReadonlyMap<number, number>;
  /** Acknowledged requests that were sent after the first 5xx answer. */
  late(): number;
}

export function startWriters(
  talkers: Talkers,
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
    const writes = new Writes(talkers, record, send);
    try {
      while (!stopped) {
        const { status } = await act(writes, chance);
        if (status >= 500) await new Promise((resolve) => setTimeout(resolve, REFUSED_PAUSE_MS));
        else if (status >= 400) throw new Error(`a write that is right was answered ${status}`);
      }
    } catch (error) {
      // The writers end when the server is gone.
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

/** Reports whether a connection ended, as opposed to an error of the test or the server. */
export function isCut(error: unknown): boolean {
  return ["ECONNRESET", "ECONNREFUSED", "EPIPE"].includes((error as NodeJS.ErrnoException).code ?? "");
}

function makeContact(writes: Writes, chance: Chance): Promise<Answer> {
  return writes.isFull("contacts") ? writes.remove("contacts", chance) : writes.makeContact();
}

function anything(writes: Writes, chance: Chance): Promise<Answer> {
  if (chance() < 0.05) return writes.changeAvatar(chance);
  const kind = (["contacts", "attachments", "messages"] as const)[Math.floor(chance() * 3)]!;
  const what = writes.isFull(kind) ? 0.9 : chance();
  if (what > 0.75) return writes.remove(kind, chance);
  if (what > 0.5) return kind === "messages" ? writes.edit(chance) : writes.rename(kind, chance);
  if (kind === "messages") return writes.sendMessage(chance);
  if (kind === "contacts") return writes.makeContact();
  return chance() < 0.5 ? writes.upload(chance) : writes.uploadInParts(chance);
}

/** Single writes, each recorded with its outcome. They reject if the connection ends. */
export class Writes {
  readonly #talkers: Talkers;
  readonly #record: AckRecord;
  readonly #send: (answered: Promise<Answer>) => Promise<Answer>;

  /** `send` can observe the answers. */
  constructor(
    talkers: Talkers,
    record: AckRecord,
    send: (answered: Promise<Answer>) => Promise<Answer> = (answered) => answered,
  ) {
    this.#talkers = talkers;
    this.#record = record;
    this.#send = send;
  }

  isFull(kind: Kind): boolean {
    return this.#record.idle(kind) >= KEPT[kind];
  }

  async makeContact(): Promise<Answer> {
    const name = randomName();
    const fields = { username: name, phone_number: "+15550100", display_name: name };
    return this.#make("contacts", name, this.#talkers.client.sendFields("POST", "/v1/contacts", fields));
  }

  /** Many are small and stored in the database, one in ten is empty, few are large. */
  async upload(chance: Chance, minBytes = 0): Promise<Answer> {
    const name = randomName();
    const size = minBytes + (chance() < 0.1 ? 0 : Math.floor(chance() ** 3 * MAX_FILE_BYTES));
    const bytes = randomBytes(size);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    return this.#make("attachments", name, this.#talkers.client.upload(name, bytes), sha256);
  }

  /** Uploads in a few parts. Without an answer it continues after the fault. */
  async uploadInParts(chance: Chance): Promise<Answer> {
    const { client } = this.#talkers;
    const bytes = randomBytes(1 + Math.floor(chance() ** 3 * MAX_FILE_BYTES));
    const { upload, answer } = await beginUpload(client, randomName(), bytes, this.#send);
    if (!upload) {
      if (leavesOpen(answer)) this.#record.unanswered();
      return answer;
    }
    this.#record.begunUploads.add(upload);
    let last = answer;
    for (let end = 0; end < bytes.length && last.status < 300; ) {
      end = Math.min(bytes.length, end + 1 + Math.floor(chance() * bytes.length));
      last = await addPart(client, this.#record, upload, end, this.#send);
    }
    return last;
  }

  /** Without an answer it is sent again after the fault. */
  async sendMessage(chance: Chance, options?: { isPeers?: boolean; minBytes?: number }): Promise<Answer> {
    const sending = newSending(this.#talkers, this.#record, chance, options);
    try {
      const answer = await this.#send(sendMessage(this.#talkers, sending));
      if (answer.status === 201) noteMessage(this.#record, sending, answer);
      else if (leavesOpen(answer)) this.#leaveOpen(sending);
      else this.#record.notMade.add(markOf(sending));
      return answer;
    } catch (error) {
      if (isCut(error)) this.#leaveOpen(sending);
      throw error;
    }
  }

  rename(kind: "contacts" | "attachments", chance: Chance): Promise<Answer> {
    const name = randomName();
    const fields = kind === "contacts" ? { display_name: name } : { filename: name };
    return this.#change(
      kind,
      chance,
      () => name,
      (client, path) => client.sendFields("PUT", path, fields),
    );
  }

  edit(chance: Chance): Promise<Answer> {
    const text = newText(chance);
    return this.#change(
      "messages",
      chance,
      ({ states }) => stateOf({ text, data: JSON.parse(states[0]!)[1] }),
      (client, path) => client.sendFields("PUT", path, { text }),
    );
  }

  remove(kind: Kind, chance: Chance): Promise<Answer> {
    return this.#change(
      kind,
      chance,
      () => null,
      (client, path) => client.send("DELETE", path),
    );
  }

  /** Sets the picture of the first user, or deletes it. Makes a contact while another writer changes it. */
  async changeAvatar(chance: Chance, minBytes = 0): Promise<Answer> {
    const { avatar } = this.#record;
    if (avatar.isTaken) return this.makeContact();
    avatar.isTaken = true;
    const bytes =
      minBytes === 0 && chance() < 0.2 ? null : picture(minBytes + chance() ** 3 * MAX_FILE_BYTES);
    const state = bytes && createHash("sha256").update(bytes).digest("hex");
    avatar.states.push(state);
    const { client } = this.#talkers;
    const path = "/v1/me/avatar";
    try {
      const answer = await this.#send(
        bytes ? client.upload("a.png", bytes, "PUT", path) : client.send("DELETE", path),
      );
      if (answer.status < 300) this.#record.acknowledgedAvatar(state);
      else if (leavesOpen(answer)) this.#record.unanswered();
      else avatar.states.pop();
      return answer;
    } catch (error) {
      this.#record.unanswered();
      throw error;
    } finally {
      avatar.isTaken = false;
    }
  }

  #leaveOpen(sending: Sending): void {
    this.#record.unanswered();
    this.#record.unansweredSendings.push(sending);
  }

  async #make(kind: Kind, state: string, sent: Promise<Answer>, sha256?: string): Promise<Answer> {
    try {
      const answer = await this.#send(sent);
      if (answer.status === 201) {
        this.#record.made(kind, JSON.parse(answer.body.toString()).id, state, { sha256 });
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
    newState: (item: Item) => State,
    change: (client: Client, path: string) => Promise<Answer>,
  ): Promise<Answer> {
    const item = this.#record.take(kind, chance);
    if (!item) return this.makeContact();
    const state = newState(item);
    item.states.push(state);
    const client = item.message?.isPeers ? this.#talkers.peer : this.#talkers.client;
    try {
      const answer = await this.#send(change(client, `/v1/${kind}/${item.id}`));
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

/** `disk_full` and `unavailable` guarantee that nothing was written. Other failures guarantee nothing. */
function leavesOpen({ status, body }: Answer): boolean {
  if (status !== 503) return status >= 500 && status !== 507;
  return (JSON.parse(body.toString()) as { code: string }).code !== "unavailable";
}

/** Returns a picture that is stored as it is sent. */
function picture(bytes: number): Buffer {
  return Buffer.concat([pngHeader(1, 1), pngChunk("IDAT", randomBytes(Math.floor(bytes))), pngChunk("IEND")]);
}

function randomName(): string {
  return randomBytes(8).toString("hex");
}
