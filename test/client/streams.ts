// A stream of a client while it is read, and a change that its user gets an event of.
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { Parley, StreamEvent, StreamState } from "../../packages/parley-client/src/index.ts";
import { eventually } from "../support/files-on-disk.ts";

type Options = Parameters<Parley["events"]["stream"]>[0];

/** Collects the events of a stream until it is closed. */
export function listen(t: TestContext, parley: Parley, options: Options = {}) {
  const stop = new AbortController();
  t.after(() => stop.abort());
  const events: StreamEvent[] = [];
  const states: StreamState[] = [];
  const { signal } = stop;
  const ended = (async () => {
    const onState = (state: StreamState) => states.push(state);
    for await (const event of parley.events.stream({ ...options, signal, onState })) events.push(event);
  })();
  ended.catch(() => {});
  const isReady = () => states.at(-1) === "ready";
  return {
    events,
    states,
    ended,
    get ids() {
      return events.map((event) => (event as { id: string }).id);
    },
    has: (count: number) => eventually(async () => events.length >= count),
    isReady,
    ready: async () => assert.ok(await eventually(async () => isReady())),
    /** Waits until the connection was ready this many times. */
    connected: async (count: number) =>
      assert.ok(await eventually(async () => states.filter((state) => state === "ready").length >= count)),
    /** Returns the usernames in the events. */
    close: async () => {
      stop.abort();
      await ended;
      return events.map(({ payload }) => (payload as { username?: string }).username);
    },
  };
}

export const add = (parley: Parley, username: string) =>
  parley.contacts.create({ username, phone_number: "555-0100" });
