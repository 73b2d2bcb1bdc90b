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

/** A server that faults are done to and that is started again, with all that it has acknowledged. */
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

  /** `under` is a command that becomes the server. */
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

  /** Closes the connections of both users; later requests open new ones. */
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

  /** A client beside the one of the writers. */
  newClient(connections: number): Client {
    return new Client(this.url, this.#token, connections);
  }

  /** The data folder. */
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

  /** Ends the server, where the fault has not, by a signal. */
  async end(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    if (!this.isGone) {
      this.server.process.kill(signal);
      await once(this.server.process, "close");
    }
    this.hangUp();
  }

  /** Starts the server again and returns what the oracle finds wrong. */
  async begin(tables?: Tables): Promise<string[]> {
    this.server = await this.#command.serve();
    this.client = new Client(this.url, this.#token);
    this.peer = new Client(this.url, this.#peerToken);
    return findProblems(this, tables);
  }
}
