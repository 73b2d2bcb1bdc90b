import { once } from "node:events";
import type { TestContext } from "node:test";
import { Client } from "../support/client.ts";
import { type CommandLine, commandLine, type Served, tokenOf } from "../support/command.ts";
import { AckRecord } from "../support/record.ts";
import { type Chance, seededChance } from "../support/scale.ts";
import { meet, type Talkers } from "../support/sending.ts";
import { startWriters, type WriterCounts, type Writers } from "../support/writers.ts";
import type { Tables } from "./event-oracle.ts";
import { findProblems } from "./oracle.ts";

/** A server that gets faults and restarts, with all its acknowledged writes. */
export class Subject implements Talkers {
  readonly record = new AckRecord();
  readonly chance: Chance;
  server: Served;
  client: Client;
  peer: Client;
  readonly shared: string;
  readonly notes: string;
  readonly #command: CommandLine;
  readonly #token: string;
  readonly #peerToken: string;

  private constructor(
    command: CommandLine,
    server: Served,
    chance: Chance,
    talkers: Talkers,
    peerToken: string,
  ) {
    this.chance = chance;
    this.server = server;
    this.client = talkers.client;
    this.peer = talkers.peer;
    this.shared = talkers.shared;
    this.notes = talkers.notes;
    this.#command = command;
    this.#token = tokenOf(server);
    this.#peerToken = peerToken;
  }

  /** `under` is a command that starts the server, such as `prlimit`. */
  static async start(
    t: TestContext,
    settings: Record<string, string> = {},
    ...under: string[]
  ): Promise<Subject> {
    const command = await commandLine(t, settings);
    const server = await command.serve(...under);
    let peerToken = "";
    const talkers = await meet(new Client(command.url, tokenOf(server)), (token) => {
      peerToken = token;
      return new Client(command.url, token);
    });
    const subject = new Subject(command, server, seededChance(t), talkers, peerToken);
    subject.hangUp();
    return subject;
  }

  /** Closes the connections of both users. Later requests open new ones. */
  hangUp(): void {
    this.client.close();
    this.peer.close();
  }

  get url(): string {
    return this.#command.url;
  }

  get authorization(): string {
    return `Bearer ${this.#token}`;
  }

  /** Returns a client besides that of the writers. */
  newClient(connections: number): Client {
    return new Client(this.url, this.#token, connections);
  }

  get data(): string {
    return this.#command.env.PARLEY_DATA!;
  }

  get isGone(): boolean {
    const { exitCode, signalCode } = this.server.process;
    return exitCode !== null || signalCode !== null;
  }

  write(counts: WriterCounts): Writers {
    return startWriters(this, this.record, this.chance, counts);
  }

  /** Stops the server by a signal, unless the fault has ended it. */
  async end(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    if (!this.isGone) {
      this.server.process.kill(signal);
      await once(this.server.process, "close");
    }
    this.hangUp();
  }

  /** Restarts the server and returns the oracle's findings. */
  async begin(tables?: Tables): Promise<string[]> {
    this.server = await this.#command.serve();
    this.client = new Client(this.url, this.#token);
    this.peer = new Client(this.url, this.#peerToken);
    return findProblems(this, tables);
  }
}
