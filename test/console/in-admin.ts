// Shared by the tests of the administration: a server with an administrator and people, and a browser.
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { BrowserContextOptions, Page } from "playwright-core";
import type { Limits } from "../../src/config/limits.ts";
import { createToken, SCOPES, type TokenChoice } from "../../src/core/people/tokens.ts";
import { createUser } from "../../src/core/people/users.ts";
import { startApp, type TestApp, type TestUser } from "../support/app.ts";
import { asker } from "../support/asker.ts";
import { openBrowser } from "../support/engines/chromium.ts";
import { LIMITS } from "../support/hooks.ts";
import { type Guard, openPage } from "./browser.ts";

export interface Office {
  server: TestApp;
  admin: TestUser;
  page: Page;
  guard: Guard;
  /** Sends requests as the administrator through the API. */
  ask: ReturnType<typeof asker>;
}

/** Signs an administrator in, with all scopes by default. */
export async function openOffice(
  t: TestContext,
  choice: TokenChoice = { scopes: SCOPES, name: "desk" },
  limits: Partial<Limits> = {},
  options: BrowserContextOptions = {},
): Promise<Office> {
  const server = await startApp(t, { ...LIMITS, ...limits });
  const admin = await addUser(server, "admin", choice);
  const { page, guard } = await openPage(await openBrowser(t), server.url, options);
  await enter(page, server.url, admin.token);
  return { server, admin, page, guard, ask: asker(server, admin) };
}

export async function addUser(
  server: TestApp,
  username: string,
  choice: TokenChoice = {},
): Promise<TestUser> {
  const { id } = await createUser(server.app.core, null, { username });
  const { token } = await createToken(server.app.core, null, id, choice);
  return { id, token, headers: { authorization: `Bearer ${token}` } };
}

/** Signs in on the page of the administration. */
export async function enter(page: Page, url: string, token: string): Promise<void> {
  await page.goto(`${url}/#admin`);
  await page.getByLabel("Access token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
}

/** Opens a section by its link. */
export async function go(page: Page, section: string): Promise<void> {
  await page.getByRole("navigation", { name: "Administration" }).getByRole("link", { name: section }).click();
  await page.getByRole("heading", { name: section, level: 1 }).waitFor();
}

export const row = (page: Page, table: string, text: string | RegExp) =>
  page.getByRole("grid", { name: table }).getByRole("row").filter({ hasText: text });

export const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();

export const dialog = (page: Page) => page.getByRole("dialog");

/** Waits for a notice. */
export async function hear(page: Page, text: string | RegExp): Promise<void> {
  await page.locator(".toasts").getByText(text).waitFor();
}

export async function statusFor(server: TestApp, token: string, path = "/v1/me"): Promise<number> {
  const response = await fetch(server.url + path, { headers: { authorization: `Bearer ${token}` } });
  await response.arrayBuffer();
  return response.status;
}

/** Sends a message to another user who is a contact of the sender. The user's webhook receives it. */
export async function sendNote(server: TestApp, user: TestUser, text: string): Promise<void> {
  const ask = asker(server, user);
  const { body } = await ask("GET", "/v1/me");
  const sent = await ask("POST", "/v1/messages", { conversation_id: body.conversation_id, text });
  assert.equal(sent.status, 201);
}
