// Shared by the tests of files.
import assert from "node:assert/strict";
import type { Locator, Page } from "playwright-core";
import { type TestApp, type TestUser, upload } from "../support/app.ts";
import { eventually } from "../support/files-on-disk.ts";
import { openFiles } from "./browser.ts";

export type Sent = [name: string, content: BlobPart];

/** Uploads files one after the other. Returns their ids. */
export async function send(
  server: TestApp,
  user: TestUser,
  files: readonly Sent[],
  fields = {},
): Promise<string[]> {
  const ids: string[] = [];
  for (const [name, content] of files) {
    const answer = await upload(server.url, user, new File([content], name), fields);
    assert.equal(answer.status, 201);
    ids.push(((await answer.json()) as { id: string }).id);
  }
  return ids;
}

/** Returns text files named by their numbers, from 0. */
export function numbered(count: number): Sent[] {
  return Array.from({ length: count }, (_, at) => [`${at}.txt`, `text ${at}`]);
}

export async function remove(server: TestApp, user: TestUser, id: string): Promise<void> {
  const answer = await fetch(`${server.url}/v1/attachments/${id}`, {
    method: "DELETE",
    headers: user.headers,
  });
  assert.equal(answer.status, 204);
}

/** Returns the filenames that the API lists for a user, newest first. */
export async function listNames(server: TestApp, user: TestUser): Promise<string[]> {
  const answer = await fetch(`${server.url}/v1/attachments?limit=100`, { headers: user.headers });
  const { data } = (await answer.json()) as { data: { filename: string }[] };
  return data.map(({ filename }) => filename);
}

/** Returns the filenames on the page, from top to bottom. */
function shownNames(page: Page): Promise<string[]> {
  return page
    .locator(".card")
    .evaluateAll((cards) =>
      cards
        .sort((a, b) => Number(a.ariaRowIndex) - Number(b.ariaRowIndex))
        .map((card) => card.querySelector(".name")!.textContent!),
    );
}

/** Waits until the list starts with these files. */
export function assertStart(page: Page, names: readonly string[]): Promise<void> {
  return assertNames(names, async () => (await shownNames(page)).slice(0, names.length));
}

/** Waits until the list has exactly these files. */
export function assertShown(page: Page, names: readonly string[]): Promise<void> {
  return assertNames(names, () => shownNames(page));
}

async function assertNames(wanted: readonly string[], read: () => Promise<string[]>): Promise<void> {
  const isRight = async () => (await read()).join() === wanted.join();
  if (!(await eventually(isRight))) assert.deepEqual(await read(), wanted);
}

export async function openNotes(page: Page): Promise<void> {
  await page.getByRole("link", { name: "Notes to self" }).click();
  await openFiles(page);
}

/** Opens the Files tab of the notes to self, which have no files yet. */
export async function openEmptyNotes(page: Page): Promise<void> {
  await openNotes(page);
  await page.getByRole("heading", { name: "Drop files here" }).waitFor();
}

/** Returns the button that opens a file. */
export function opener(page: Page, name: string): Locator {
  return page.getByRole("button", { name: `Open ${name}`, exact: true });
}
