// The rules of events after any fault: each change has its event, and each event its change.

import type { Client } from "../support/client.ts";
import { eventually } from "../support/files-on-disk.ts";
import type { AckRecord, Item } from "../support/record.ts";
import type { Talkers } from "../support/sending.ts";

/** Returns the first column of a query on the tables. */
export type Tables = (sql: string) => Promise<unknown[]>;

interface Event {
  number: number;
  /** The change, such as `contact.created`. */
  type: string;
  id: string;
  /** The name of a contact in the event. Events of files and messages only refer to them. */
  name: string | undefined;
  conversationId: string | undefined;
}

interface Payload {
  id: string;
  conversation_id?: string;
  display_name?: string;
  filename?: string;
  text?: string | null;
}

/** An existing contact, file or message. */
export interface Present {
  filename?: string;
  /** Files only. */
  message_id?: string;
  /** Messages only. */
  text?: string | null;
}

const PAGE = 100;

/** Compares the events of both users with the acknowledged writes, and with what the first user sees (`present`). */
export async function findEventProblems(
  { client, peer, shared, record }: Talkers & { record: AckRecord },
  present: ReadonlyMap<string, Present>,
  tables: Tables,
): Promise<string[]> {
  // Changes of profiles are published after their commit.
  const left = "SELECT 1 FROM profile_changes UNION ALL SELECT 1 FROM outbox LIMIT 1";
  if (!(await eventually(async () => (await tables(left)).length === 0)))
    return ["events: some are not published, or never get a number"];
  const problems: string[] = [];
  const [mine, theirs] = [await eventsOf(client, tables), await eventsOf(peer, tables)];
  for (const [user, events] of [[client, mine] as const, [peer, theirs] as const]) {
    const odd = events.findIndex(({ number }, i) => number !== i + 1);
    if (odd !== -1) problems.push(`events: in place ${odd + 1} is number ${events[odd]!.number}`);
    problems.push(...(await findPageProblems(user, events, present)));
  }
  const inShared = (events: readonly Event[]) =>
    storyOf(events.filter(({ conversationId }) => conversationId === shared));
  if (inShared(mine) !== inShared(theirs)) problems.push("events: the two have others of their conversation");
  // Changes of a profile are no part of a story: several can share an event.
  const stories = mine.filter(({ type }) => type !== "user.updated");
  const byResource = Map.groupBy(stories, (event) => event.id);
  problems.push(...findStoryProblems(record, byResource, present));
  return [...problems, ...findUploadProblems(record, byResource, present)];
}

/** Finds acknowledged or existing resources whose events do not match their changes. */
function findStoryProblems(
  record: AckRecord,
  byResource: ReadonlyMap<string, Event[]>,
  present: ReadonlyMap<string, Present>,
): string[] {
  const problems: string[] = [];
  for (const item of record.items.values()) {
    // Items in a wrong state are reported elsewhere.
    if (item.states.length > 1) continue;
    for (const [id, expected] of expectedOf(item)) {
      const told = toldOf(byResource.get(id));
      if (told !== expected) problems.push(`events of ${id}: ${told || "none"}, not ${expected}`);
    }
  }
  for (const [id, story] of byResource) {
    const isThere = !story.at(-1)!.type.endsWith(".deleted");
    if (isThere !== present.has(id))
      problems.push(`events of ${id}: ${toldOf(story)}, and it is ${isThere ? "not " : ""}there`);
  }
  for (const id of present.keys())
    if (!byResource.has(id)) problems.push(`events of ${id}: none, and it is there`);
  return problems;
}

/** Finds files uploaded alone whose events differ from those of their message. */
function findUploadProblems(
  { items }: AckRecord,
  byResource: ReadonlyMap<string, Event[]>,
  present: ReadonlyMap<string, Present>,
): string[] {
  const problems: string[] = [];
  const sent = new Set<string>();
  for (const { id, message } of items.values())
    if (message) for (const each of [{ id }, ...message.files]) sent.add(each.id);
  for (const [id, { message_id }] of present) {
    if (message_id === undefined || sent.has(message_id)) continue;
    if (changesOf(byResource.get(id)) !== changesOf(byResource.get(message_id)))
      problems.push(`events of ${message_id}: not those of its file ${id}`);
  }
  const changes = (family: string) =>
    [...byResource]
      .filter(([id]) => id.startsWith(family) && !sent.has(id))
      .map(([, story]) => changesOf(story));
  if (changes("msg_").sort().join("; ") !== changes("att_").sort().join("; "))
    problems.push("events: those of uploads are not those of their messages");
  return problems;
}

async function eventsOf(client: Client, tables: Tables): Promise<Event[]> {
  const { id } = await client.get<{ id: string }>("/v1/me");
  const rows = await tables(
    `SELECT number || ' ' || type || ' ' || payload FROM events WHERE recipient_id = '${id}' ORDER BY position`,
  );
  return rows.map((row) => eventOf(String(row)));
}

function eventOf(row: string): Event {
  const [, number, type, json] = /^(\d+) (\S+) (.*)$/s.exec(row)!;
  const { id, display_name, conversation_id } = JSON.parse(json!) as Payload;
  const isReference = !type!.startsWith("contact.");
  return {
    number: Number(number),
    type: type!,
    id,
    name: display_name,
    conversationId: isReference ? conversation_id : undefined,
  };
}

function storyOf(events: readonly Event[]): string {
  return events.map(({ type, id }) => `${type} ${id}`).join(", ");
}

/** Joins the events of one resource. */
function toldOf(events: readonly Event[] = []): string {
  return events.map(({ type, name }) => (name === undefined ? type : `${type} ${name}`)).join(", ");
}

/** Joins the changes of one resource, without its family. */
function changesOf(events: readonly Event[] = []): string {
  return events.map(({ type }) => type.split(".")[1]).join(", ");
}

const FAMILIES = { contacts: "contact", attachments: "attachment", messages: "message" };

/** Returns the expected events of an item and of a message's files, by id. */
function expectedOf({ id, kind, names, states, message }: Item): [id: string, story: string][] {
  const told = (change: string, name: string) =>
    kind === "contacts" ? `contact.${change} ${name}` : `${FAMILIES[kind]}.${change}`;
  const story = names.map((name, i) => told(i === 0 ? "created" : "updated", name));
  const isGone = states[0] === null;
  const whole = [...story, ...(isGone ? [told("deleted", names.at(-1)!)] : [])].join(", ");
  const ofFile = `attachment.created${isGone ? ", attachment.deleted" : ""}`;
  return [[id, whole], ...(message?.files ?? []).map((file): [string, string] => [file.id, ofFile])];
}

/** Asserts that the newest page of events equals the table, and shows files and messages as they are now. */
async function findPageProblems(
  client: Client,
  events: readonly Event[],
  present: ReadonlyMap<string, Present>,
): Promise<string[]> {
  const page = await client.get<{ data: { type: string; payload: Payload }[] }>(`/v1/events?limit=${PAGE}`);
  const told = page.data.map(({ type, payload }) => `${type} ${payload.id}`);
  const kept = events.slice(-PAGE).map(({ type, id }) => `${type} ${id}`);
  const problems =
    told.join() === kept.reverse().join() ? [] : ["events: the page has others than the table"];
  for (const { type, payload } of page.data) {
    if (type.startsWith("contact.")) continue;
    const { filename, text } = present.get(payload.id) ?? {};
    if (payload.filename !== filename || payload.text !== text)
      problems.push(`${type} ${payload.id}: ${JSON.stringify(payload)}, not ${filename ?? text}`);
  }
  return problems;
}
