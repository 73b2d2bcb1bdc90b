import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { TestApp, TestUser } from "./app.ts";
import { startSocket } from "./event-socket.ts";
import { beginRequest } from "./raw-socket.ts";

export interface TestEvent {
  id: string;
  sequence: number;
  type: string;
  timestamp: number;
  conversation_id?: string | null;
  notify?: boolean;
  payload: Record<string, unknown>;
}

/** A client's stream of events. */
export interface Stream {
  /** The events so far. */
  events: TestEvent[];
  /** Resolves once there are this many events. */
  wait(count: number): Promise<TestEvent[]>;
  /** Resolves once the server has closed the stream. */
  ended: Promise<void>;
  close(): void;
}

const WAIT_MS = 60_000;

interface Wanted {
  /** Opens the stream after this event. */
  after?: string;
  query?: string;
}

/** Listens as a user, by server-sent events and by a WebSocket at the same time: both must show the same. */
export async function listen(
  t: TestContext,
  server: Pick<TestApp, "url">,
  user: Pick<TestUser, "headers">,
  wanted: Wanted = {},
): Promise<Stream> {
  const { after, query = "" } = wanted;
  // The WebSocket starts first, or it would miss an event between both.
  const last = after ?? (await lastEventId(server, user));
  const types = new URLSearchParams(query).get("types") ?? undefined;
  const twin = await startSocket(t, server, user, { after: last, types });
  const stream = await listenAlone(t, server, user, { ...wanted, after: last });
  const twins = () => twin.frames.filter(({ type }) => type !== "ready") as unknown as TestEvent[];
  return {
    ...stream,
    ended: Promise.all([stream.ended, twin.closed]).then(() => {}),
    close() {
      stream.close();
      twin.ws.terminate();
    },
    async wait(count) {
      const events = await stream.wait(count);
      // Typing is sent at once, between other events. Payloads are as they were when each was sent.
      const ids = (all: TestEvent[]) =>
        all.flatMap(({ id, type }) => (id === undefined ? [] : `${id} ${type}`));
      const due = ids(events);
      for (const deadline = performance.now() + WAIT_MS; performance.now() < deadline; await sleep(5))
        if (twins().length >= count && ids(twins()).length >= due.length) break;
      assert.deepEqual(ids(twins()).slice(0, due.length), due);
      return events;
    },
  };
}

async function lastEventId({ url }: Pick<TestApp, "url">, { headers }: Pick<TestUser, "headers">) {
  const answer = await fetch(`${url}/v1/events`, {
    method: "HEAD",
    headers: { ...headers, accept: "text/event-stream" },
  });
  assert.equal(answer.status, 200);
  return answer.headers.get("last-event-id")!;
}

/** Listens by server-sent events only. */
export async function listenAlone(
  t: TestContext,
  server: Pick<TestApp, "url">,
  user: Pick<TestUser, "headers">,
  { after, query = "" }: Wanted = {},
): Promise<Stream> {
  const controller = new AbortController();
  t.after(() => controller.abort());
  const response = await fetch(`${server.url}/v1/events${query}`, {
    headers: {
      ...user.headers,
      accept: "text/event-stream",
      ...(after === undefined ? {} : { "last-event-id": after }),
    },
    signal: controller.signal,
  });
  assert.equal(response.status, 200, response.status === 200 ? "" : await response.text());
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  const events: TestEvent[] = [];
  const read = async () => {
    let text = "";
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
        const frame = parse(text.slice(0, end));
        text = text.slice(end + 2);
        if (frame) events.push(frame);
      }
    }
  };
  const ended = read().catch(() => {});
  return {
    events,
    ended,
    close: () => controller.abort(),
    async wait(count) {
      const deadline = performance.now() + WAIT_MS;
      while (events.length < count && performance.now() < deadline) await sleep(5);
      assert.ok(events.length >= count, `${events.length} of ${count} events came`);
      return events;
    },
  };
}

/** Opens a stream that is read only on request of the test. */
export async function openStream({ url }: Pick<TestApp, "url">, user: TestUser, query = "") {
  const socket = await beginRequest(url, `GET /v1/events${query}`, user, { accept: "text/event-stream" });
  return socket.pause();
}

/** Returns a page of events. */
export async function eventPage(
  server: Pick<TestApp, "url">,
  user: Pick<TestUser, "headers">,
  query = "",
): Promise<{ has_more: boolean; data: TestEvent[] }> {
  const answer = await fetch(`${server.url}/v1/events${query}`, { headers: user.headers });
  assert.equal(answer.status, 200, await answer.clone().text());
  return (await answer.json()) as { has_more: boolean; data: TestEvent[] };
}

/** Reads all of the user's events page by page, oldest first. */
export async function allEvents(
  server: Pick<TestApp, "url">,
  user: Pick<TestUser, "headers">,
): Promise<TestEvent[]> {
  const events: TestEvent[] = [];
  for (let cursor = ""; ; cursor = `&starting_after=${events.at(-1)!.id}`) {
    const { has_more, data } = await eventPage(server, user, `?limit=100${cursor}`);
    events.push(...data);
    if (!has_more) return events.reverse();
  }
}

function parse(frame: string): TestEvent | undefined {
  const fields = new Map<string, string>();
  for (const line of frame.split("\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1).replace(/^ /, ""));
  }
  const data = fields.get("data");
  if (data === undefined) return undefined;
  const event = JSON.parse(data) as TestEvent;
  assert.equal(fields.get("id"), event.id);
  assert.equal(fields.get("event"), event.type);
  return event;
}
