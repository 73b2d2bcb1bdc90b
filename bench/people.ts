// Users of a server that is measured, and their streams of events.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { WebSocket } from "ws";
import { JSON_TYPE } from "./requests.ts";
import { PARLEY, parley } from "./servers.ts";

export type Headers = Record<string, string>;

export interface Person {
  id: string;
  username: string;
  headers: Headers;
}

/** Adds users with a token each. `command`: of the Parley that they are users of. */
export async function addPeople(
  port: number,
  dataFolder: string,
  usernames: string[],
  settings: Record<string, string> = {},
  command: string = PARLEY,
): Promise<Person[]> {
  const run = (...args: string[]) => parley(dataFolder, args, settings, command);
  run("user", "add", "operator");
  const operator = headersOf(run("token", "create", "operator", "--scope", "admin").trim());
  const people: Person[] = [];
  for (const username of usernames) {
    const { id } = await postTo<{ id: string }>(port, "/v1/users", operator, { username });
    const made = await postTo<{ token: string }>(port, "/v1/tokens", operator, { user_id: id });
    people.push({ id, username, headers: headersOf(made.token) });
  }
  return people;
}

function headersOf(token: string): Headers {
  return { authorization: `Bearer ${token}` };
}

export async function postTo<T>(
  port: number,
  path: string,
  headers: Headers,
  body: object | Buffer,
  status = 201,
): Promise<T> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers: { ...headers, ...JSON_TYPE },
    body: body instanceof Buffer ? new Uint8Array(body) : JSON.stringify(body),
  });
  if (answer.status !== status) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

/** Makes two people contacts of each other and returns the id of their conversation. */
export async function introduce(port: number, one: Person, other: Person): Promise<string> {
  let conversation = "";
  for (const [owner, { username }] of [
    [one, other],
    [other, one],
  ] as const) {
    const contact = { username, phone_number: "+4915112345678" };
    const made = await postTo<{ conversation_id: string }>(port, "/v1/contacts", owner.headers, contact);
    conversation = made.conversation_id;
  }
  return conversation;
}

/** When what each event is about came to each listener. */
export class Arrivals {
  count = 0;
  /** By the id of what was made. */
  readonly times = new Map<string, number[]>();

  add(id: string): void {
    const times = this.times.get(id);
    if (times) times.push(performance.now());
    else this.times.set(id, [performance.now()]);
    this.count++;
  }

  forget(): void {
    this.times.clear();
    this.count = 0;
  }
}

/** Notes what an event is about. */
function note(event: string, arrivals: Pick<Arrivals, "add">): void {
  const id = /"payload":\{"(?:conversation_)?id":"(\w+)"/.exec(event)?.[1];
  if (id !== undefined) arrivals.add(id);
}

/** Opens a stream of the events of this type. */
export async function openStream(
  port: number,
  headers: Headers,
  type: string,
  arrivals: Pick<Arrivals, "add">,
): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  socket.setEncoding("latin1");
  const accept = `authorization: ${headers.authorization}\r\naccept: text/event-stream`;
  socket.write(`GET /v1/events?types=${type} HTTP/1.1\r\nhost: bench\r\n${accept}\r\n\r\n`);
  const [head] = (await once(socket, "data")) as [string];
  if (!head.startsWith("HTTP/1.1 200 ")) throw new Error(head);
  let rest = "";
  socket.on("data", (text: string) => {
    const frames = (rest + text).split("\n\n");
    rest = frames.pop()!;
    for (const frame of frames) note(frame, arrivals);
  });
  return socket;
}

/** Opens a WebSocket of the events of this type. */
export async function openWebSocket(
  port: number,
  { authorization }: Headers,
  type: string,
  arrivals: Pick<Arrivals, "add">,
): Promise<{ destroy(): void }> {
  const ws = new WebSocket(`ws://127.0.0.1:${port}/v1/events`, "parley.1", { perMessageDeflate: false });
  await once(ws, "open");
  ws.send(JSON.stringify({ token: authorization!.slice("Bearer ".length), types: [type] }));
  const [ready] = (await once(ws, "message")) as [Buffer];
  if (!ready.includes('"ready"')) throw new Error(String(ready));
  ws.on("message", (data) => note(String(data), arrivals));
  return { destroy: () => ws.terminate() };
}
