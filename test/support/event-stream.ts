import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { TestApp, TestUser } from "./app.ts";
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

/** Opens a stream as a user, after an event if one is given. */
export async function listen(
  t: TestContext,
  server: Pick<TestApp, "url">,
  user: Pick<TestUser, "headers">,
  { after, query = "" }: { after?: string; query?: string } = {},
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
