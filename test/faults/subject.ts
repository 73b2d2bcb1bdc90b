import { once } from "node:events";
import type { TestContext } from "node:test";
import { Client } from "../support/client.ts";
import { type CommandLine, commandLine, type Served, tokenOf } from "../support/command.ts";
import { AckRecord } from "../support/record.ts";
import { type Chance, seededChance } from "../support/scale.ts";
import { startWriters, type WriterCounts, type Writers } from "../support/writers.ts";
import type { Tables } from "./event-oracle.ts";
import { findProblems } from "./oracle.ts";

/** A server that faults are done to and that is started again, with all that it has acknowledged. */
export class Subject {
  readonly record = new AckRecord();
  readonly chance: Chance;
  server: Served;
  client: Client;
  readonly #command: CommandLine;
  readonly #token: string;

  private constructor(command: CommandLine, server: Served, chance: Chance) {
    this.chance = chance;
    this.server = server;
    this.#command = command;
    this.#token = tokenOf(server);
    this.client = new Client(command.url, this.#token);
  }

  /** `under` is a command that becomes the server. */
  static async start(
    t: TestContext,
    settings: Record<string, string> = {},
    ...under: string[]
  ): Promise<Subject> {
    const command = await commandLine(t, settings);
    return new Subject(command, await command.serve(...under), seededChance(t));
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
    return startWriters(this.client, this.record, this.chance, counts);
  }

  /** Ends the server, where the fault has not, by a signal. */
  async end(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    if (!this.isGone) {
      this.server.process.kill(signal);
      await once(this.server.process, "close");
    }
    this.client.close();
  }

  /** Starts the server again and returns what the oracle finds wrong. */
  async begin(tables?: Tables): Promise<string[]> {
    this.server = await this.#command.serve();
    this.client = new Client(this.#command.url, this.#token);
    return findProblems(this.client, this.data, this.record, tables);
  }
}
