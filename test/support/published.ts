import assert from "node:assert/strict";
import { hasUnnumbered } from "../../src/db/queries/events/events.ts";
import { findProfileChange } from "../../src/db/queries/people/profile-readers.ts";
import type { TestApp } from "./app.ts";
import { eventually } from "./files-on-disk.ts";

/** Waits until the events of all changes so far have their numbers, so that lists show them and new streams do not. */
export async function published({ app: { core } }: Pick<TestApp, "app">): Promise<void> {
  const isPublished = async () =>
    (await findProfileChange(core.db, "")) === undefined && !(await hasUnnumbered(core.db));
  assert.ok(await eventually(isPublished), "events wait for their numbers");
}
