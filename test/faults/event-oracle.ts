// What must hold of events after any fault: each change has its event, and each event its change.

import type { Client } from "../support/client.ts";
import { eventually } from "../support/files-on-disk.ts";
import type { AckRecord, Item } from "../support/record.ts";

/** The first column of a query on the tables themselves. */
export type Tables = (sql: string) => Promise<unknown[]>;

interface Event {
  number: number;
  /** What was done. */
  type: string;
  id: string;
  /** Of a contact, as it was told; events of files and messages refer to them. */
  name: string | undefined;
}

interface Payload {
  id: string;
  display_name?: string;
  filename?: string;
}

/** What is there: a contact or a file. */
export interface Present {
  filename: string;
  message_id: string;
}

const PAGE = 100;

/** Compares the client's events with what was acknowledged, and with the resources that are there (`present`). */
export async function findEventProblems(
  client: Client,
  record: AckRecord,
  resources: ReadonlyMap<string, Present>,
  tables: Tables,
): Promise<string[]> {
  if (!(await eventually(async () => (await tables("SELECT id FROM outbox LIMIT 1")).length === 0)))
    return ["events: some never get a number"];
  const { id } = await client.get<{ id: string }>("/v1/me");
  const rows = await tables(
    `SELECT number || ' ' || type || ' ' || payload FROM events WHERE recipient_id = '${id}' ORDER BY position`,
  );
  const events = rows.map((row) => eventOf(String(row)));
  const files = [...resources].filter(([resource]) => resource.startsWith("att_"));
  // Each file is a message of its own.
  const present = new Set([...resources.keys(), ...files.map(([, { message_id }]) => message_id)]);
  const odd = events.findIndex(({ number }, i) => number !== i + 1);
  const problems = odd === -1 ? [] : [`events: in place ${odd + 1} is number ${events[odd]!.number}`];
  const byResource = Map.groupBy(events, (event) => event.id);
  for (const item of record.items.values()) {
    // Of those that are not as they should be is told already.
    if (item.states.length > 1) continue;
    const [told, expected] = [storyOf(byResource.get(item.id) ?? []), expectedOf(item)];
    if (told !== expected) problems.push(`events of ${item.id}: ${told || "none"}, not ${expected}`);
  }
  for (const [resource, story] of byResource) {
    const isThere = !story.at(-1)!.type.endsWith(".deleted");
    if (isThere !== present.has(resource))
      problems.push(`events of ${resource}: ${storyOf(story)}, and it is ${isThere ? "not " : ""}there`);
  }
  for (const resource of present)
    if (!byResource.has(resource)) problems.push(`events of ${resource}: none, and it is there`);
  for (const [file, { message_id }] of files)
    if (changesOf(byResource.get(file)) !== changesOf(byResource.get(message_id)))
      problems.push(`events of ${message_id}: not those of its file ${file}`);
  const changes = (family: string) =>
    [...byResource].filter(([resource]) => resource.startsWith(family)).map(([, story]) => changesOf(story));
  if (changes("msg_").sort().join("; ") !== changes("att_").sort().join("; "))
    problems.push("events: those of messages are not those of their files");
  return [...problems, ...(await findPageProblems(client, events, resources))];
}

function eventOf(row: string): Event {
  const [, number, type, json] = /^(\d+) (\S+) (.*)$/s.exec(row)!;
  const { id, display_name } = JSON.parse(json!) as Payload;
  return { number: Number(number), type: type!, id, name: display_name };
}

function storyOf(events: readonly Event[]): string {
  return events.map(({ type, name }) => (name === undefined ? type : `${type} ${name}`)).join(", ");
}

/** What was done, whatever it was done to. */
function changesOf(events: readonly Event[] = []): string {
  return events.map(({ type }) => type.split(".")[1]).join(", ");
}

function expectedOf({ kind, names, states }: Item): string {
  const isContact = kind === "contacts";
  const told = (change: string, name: string) =>
    isContact ? `contact.${change} ${name}` : `attachment.${change}`;
  const story = names.map((name, i) => told(i === 0 ? "created" : "updated", name));
  return [...story, ...(states[0] === null ? [told("deleted", names.at(-1)!)] : [])].join(", ");
}

/** The newest events as they are told are those of the table, and show files as they are now. */
async function findPageProblems(
  client: Client,
  events: readonly Event[],
  resources: ReadonlyMap<string, Present>,
): Promise<string[]> {
  const page = await client.get<{ data: { type: string; payload: Payload }[] }>(`/v1/events?limit=${PAGE}`);
  const told = page.data.map(({ type, payload }) => `${type} ${payload.id}`);
  const kept = events.slice(-PAGE).map(({ type, id }) => `${type} ${id}`);
  const problems =
    told.join() === kept.reverse().join() ? [] : ["events: the page has others than the table"];
  for (const { type, payload } of page.data) {
    if (!type.startsWith("attachment.")) continue;
    const name = resources.get(payload.id)?.filename;
    if (payload.filename !== name) problems.push(`${type} ${payload.id}: ${payload.filename}, not ${name}`);
  }
  return problems;
}
