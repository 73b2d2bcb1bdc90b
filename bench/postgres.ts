// The same work with the rows in PostgreSQL, which shares the servers' core.
import { join } from "node:path";
import { startPostgres } from "../test/support/engines/postgres.ts";
import { below, CONNECTIONS, get, JSON_TYPE, PAGE, post, randomContact } from "./requests.ts";
import { onServerCore, parley, startParley } from "./servers.ts";
import { FEW, type Subject } from "./subject.ts";
import type { Work } from "./works.ts";

/** `works` are those on SQLite, whose yardsticks serve here too. */
export async function postgresWorks(
  stack: AsyncDisposableStack,
  subject: Subject,
  works: Record<string, Work>,
): Promise<Record<string, Work>> {
  const postgres = await startPostgres(onServerCore);
  stack.defer(() => postgres.remove());
  const folder = join(subject.folder, "data-postgres");
  const settings = {
    PARLEY_DATABASE_URL: postgres.url,
    PARLEY_SECRET: "a secret that is only there to be measured",
  };
  const { port } = await startParley(stack, folder, { settings });
  const headers = {
    authorization: `Bearer ${parley(folder, ["token", "create", "admin"], settings).trim()}`,
  };
  const ids = await fill(port, headers);
  const pick = (from: number) => ids[from + below(FEW - from)]!;
  const server = { port, connections: CONNECTIONS };
  const contenders = {
    retrieve: { ...server, status: 200, next: () => get(`/v1/contacts/${pick(0)}`, headers) },
    list: { ...server, status: 200, next: () => get(`/v1/contacts?starting_after=${pick(PAGE)}`, headers) },
    create: {
      ...server,
      status: 201,
      next: () => post("/v1/contacts", { ...headers, ...JSON_TYPE }, randomContact()),
    },
  };
  return Object.fromEntries(
    Object.entries(contenders).map(([name, requests]) => [
      name,
      {
        contenders: { bare: works[name]!.contenders.bare!, postgres: requests },
        ratios: [{ row: `${name}Postgres`, of: "postgres", to: "bare" }],
      },
    ]),
  );
}

/** Makes contacts and returns their ids, oldest first. */
async function fill(port: number, headers: Record<string, string>): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < FEW; i++) {
    const response = await fetch(`http://127.0.0.1:${port}/v1/contacts`, {
      method: "POST",
      headers: { ...headers, ...JSON_TYPE },
      body: new Uint8Array(randomContact()),
    });
    if (response.status !== 201) throw new Error(`A contact was answered ${response.status}.`);
    ids.push(((await response.json()) as { id: string }).id);
  }
  return ids;
}
