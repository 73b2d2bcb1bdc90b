// Devices of users, and what tests compare of them.
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { Parley } from "../../packages/parley-client/src/index.ts";
import {
  memoryStore,
  openSync,
  type Store,
  type Sync,
  type SyncOptions,
} from "../../packages/parley-sync/src/index.ts";
import { eventually } from "../support/files-on-disk.ts";

export interface Device {
  sync: Sync;
  store: Store;
  client: Parley;
}

/** Opens a device, which closes after the test. */
export async function openDevice(
  t: TestContext,
  { url, token }: { url: string; token: string },
  options: Partial<SyncOptions> = {},
): Promise<Device> {
  const client = new Parley({ url, token });
  const store = options.store ?? memoryStore();
  const sync = await openSync({ client, store, ...options });
  t.after(() => sync.close());
  return { sync, store, client };
}

/** Shows a conversation as a page would, which loads it. */
export function show(t: TestContext, { sync }: Device, id: string) {
  const view = sync.conversation(id);
  t.after(view.subscribe(() => {}));
  return view;
}

export const settled = ({ sync }: Device) =>
  eventually(
    async () =>
      sync.connection().getSnapshot().state === "live" &&
      sync
        .outbox()
        .getSnapshot()
        .every(({ state }) => state === "failed"),
  );

/** Fills a store with the copy of a device, which is closed then. */
export async function fillStore(t: TestContext, at: { url: string; token: string }, store: Store) {
  const device = await openDevice(t, at, { store });
  assert.ok(await settled(device));
  await device.sync.close();
}

/** Formats what is compared: links are signed anew each time, and devices add their own fields. */
export function plain(value: unknown): string {
  const own = ["file_url", "avatar_url", "state", "reason", "files", "sent_bytes", "key"];
  return JSON.stringify(value, (name, each) => {
    if (own.includes(name)) return undefined;
    if (name !== "reactions") return each;
    const sets = (each as { emoji: string; user_ids: string[] }[]).flatMap(({ emoji, user_ids }) =>
      user_ids.map((id) => `${emoji} ${id}`),
    );
    return sets.sort();
  });
}
