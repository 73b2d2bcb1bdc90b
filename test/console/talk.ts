// Shared by the tests of conversations: two people who are contacts, and their messages.
import assert from "node:assert/strict";
import type { Locator, Page } from "playwright-core";
import type { TestApp, TestUser } from "../support/app.ts";
import { type Guard, makeContact } from "./browser.ts";
import type { Sent } from "./in-files.ts";
import type { World } from "./scenes.ts";

export interface Person {
  user: TestUser;
  page: Page;
  guard: Guard;
}

/** Sends a message through the API. */
export async function say(
  server: TestApp,
  user: TestUser,
  conversation_id: string,
  text: string,
  more: object = {},
): Promise<{ id: string }> {
  const response = await fetch(`${server.url}/v1/messages`, {
    method: "POST",
    headers: { ...user.headers, "content-type": "application/json" },
    body: JSON.stringify({ conversation_id, text, ...more }),
  });
  assert.equal(response.status, 201);
  return (await response.json()) as { id: string };
}

/** Sends one message with these files through the API. */
export async function sayFiles(
  server: TestApp,
  user: TestUser,
  conversation_id: string,
  files: readonly Sent[],
): Promise<void> {
  const form = new FormData();
  form.set("conversation_id", conversation_id);
  for (const [name, content] of files) form.append("file", new File([content], name));
  const response = await fetch(`${server.url}/v1/messages`, {
    method: "POST",
    headers: user.headers,
    body: form,
  });
  assert.equal(response.status, 201);
}

/** Returns the texts of a conversation from the API, oldest first. */
export async function listTexts(server: TestApp, user: TestUser, id: string): Promise<string[]> {
  const texts: string[] = [];
  for (let after = ""; ; ) {
    const query = `conversation_id=${id}&limit=100${after && `&starting_after=${after}`}`;
    const response = await fetch(`${server.url}/v1/messages?${query}`, { headers: user.headers });
    const { data, has_more } = (await response.json()) as {
      data: { id: string; text: string }[];
      has_more: boolean;
    };
    texts.push(...data.map(({ text }) => text));
    if (!has_more) return texts.reverse();
    after = data.at(-1)!.id;
  }
}

/** Returns the texts on the page, from top to bottom. */
export function shownTexts(page: Page): Promise<string[]> {
  return page.locator(".message-text").allTextContents();
}

/** Makes two users contacts, named Ann and Bob. */
export async function introduce(server: TestApp, ann: TestUser, bob: TestUser): Promise<string> {
  const [annName, bobName] = await Promise.all([ann, bob].map((user) => toUsername(server, user)));
  const { conversation_id } = await makeContact(server, ann, bobName!, "Bob");
  await makeContact(server, bob, annName!, "Ann");
  return conversation_id;
}

export async function toUsername(server: TestApp, { headers }: TestUser): Promise<string> {
  const response = await fetch(`${server.url}/v1/me`, { headers });
  return ((await response.json()) as { username: string }).username;
}

/** Opens the conversation of two people, a page for each. */
export async function meet({ server, arrive }: World): Promise<{ ann: Person; bob: Person; id: string }> {
  const ann = await arrive();
  const bob = await arrive();
  const id = await introduce(server, ann.user, bob.user);
  await ann.page.getByRole("option", { name: "Bob" }).click();
  await bob.page.getByRole("option", { name: "Ann" }).click();
  for (const { page } of [ann, bob]) await page.getByRole("heading", { name: "No messages yet" }).waitFor();
  return { ann, bob, id };
}

/** Types into the composer and presses Enter. */
export async function write(page: Page, text: string): Promise<void> {
  const field = page.getByRole("textbox", { name: /^Message to/ });
  await field.fill(text);
  await field.press("Enter");
}

/** Returns the message with this text. */
export function find(page: Page, text: string) {
  return page.locator(".message").filter({ has: page.locator(".message-text", { hasText: text }) });
}

/** Presses one of the buttons that a message shows on hover, or chooses it in the menu of a narrow window. */
export async function act(
  page: Page,
  text: string,
  button: "Reply" | "React" | "Edit" | "Delete",
): Promise<void> {
  const message = find(page, text);
  if (page.viewportSize()!.width < 760) {
    await message.getByRole("button", { name: "Message actions" }).click();
    return page.getByRole("menuitem", { name: button, exact: true }).click();
  }
  // A message that moves when one is sent loses the hover, and with it the buttons: try again.
  for (let attempt = 1; ; attempt++) {
    await message.hover();
    try {
      return await message.getByRole("button", { name: button, exact: true }).click({ timeout: 3000 });
    } catch (error) {
      if (attempt === 5) throw error;
    }
  }
}

/** Holds a finger on an element until a long press shows something. */
export async function hold(page: Page, target: Locator, shown: Locator): Promise<void> {
  const { x, y, width, height } = (await target.boundingBox())!;
  const touch = await page.context().newCDPSession(page);
  await touch.send("Emulation.setTouchEmulationEnabled", { enabled: true });
  const point = { x: x + width / 2, y: y + height / 2 };
  await touch.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [point] });
  await shown.waitFor();
  await touch.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
}
