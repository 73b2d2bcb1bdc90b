import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import type { Browser, BrowserContextOptions, Locator, Page } from "playwright-core";
import type { TestApp, TestUser } from "../support/app.ts";

/** Requests inside the browser: blobs and its PDF viewer. */
const INSIDE = /^(?:blob|data|chrome|chrome-extension):/;

/** Problems on a page. The list must stay empty, whatever a test does. */
export interface Guard {
  /** Policy violations, uncaught errors, and requests to other origins. */
  complaints: string[];
}

/**
 * Opens a page in a new context, as another person. Records requests to other origins, policy violations and
 * script errors.
 */
export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; guard: Guard }> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    reducedMotion: "reduce",
    ...options,
  });
  const guard: Guard = { complaints: [] };
  // Firefox has no such permissions: a preference allows clipboard access in tests.
  if (browser.browserType().name() === "chromium")
    await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: new URL(url).origin });
  await context.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) =>
      console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`),
    );
  });
  const page = await context.newPage();
  // Just below the limit of a test, so that a slow machine passes and a failure names what it waited for.
  page.setDefaultTimeout(240_000);
  context.on("request", (request) => {
    const asked = request.url();
    if (!asked.startsWith(`${url}/`) && !INSIDE.test(asked)) guard.complaints.push(`asked ${asked}`);
  });
  context.on("console", (message) => {
    // The browser logs such a line for every status of 400 or more and every lost connection, also if the page handles it.
    if (
      message.type() !== "error" ||
      /^(?:Failed to load resource|WebSocket connection to)/.test(message.text())
    )
      return;
    guard.complaints.push(message.text());
  });
  page.on("pageerror", (error) => guard.complaints.push(String(error)));
  return { page, guard };
}

/** Opens the console, and signs in unless the browser already is. */
export async function signIn(page: Page, url: string, token: string): Promise<void> {
  await page.goto(`${url}/`);
  const field = page.getByLabel("Access token");
  const notes = page.getByRole("link", { name: "Notes to self" });
  await field.or(notes).waitFor();
  if (await field.isVisible()) {
    await field.fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
  }
  await notes.waitFor();
}

/** Chooses an item in the menu of the open conversation. */
export async function choose(page: Page, item: string): Promise<void> {
  await page.getByRole("button", { name: "More", exact: true }).click();
  await page.getByRole("menuitem", { name: item, exact: true }).click();
}

/** Waits until the menu of the open conversation has an item. */
export async function findItem(page: Page, item: string): Promise<void> {
  await page.getByRole("button", { name: "More", exact: true }).click();
  await page.getByRole("menuitem", { name: item, exact: true }).waitFor();
  await page.keyboard.press("Escape");
}

/** Opens the account menu, unless it is open. */
export async function openAccount(page: Page): Promise<void> {
  const button = page.getByRole("button", { name: "Your account" });
  if ((await button.getAttribute("aria-expanded")) === "false") await button.click();
}

export async function signOut(page: Page): Promise<void> {
  await openAccount(page);
  await page.getByRole("menuitem", { name: "Sign out" }).click();
}

/** Opens the account menu and returns a switch in the given state. */
export async function findSwitch(page: Page, name: string, checked: boolean): Promise<Locator> {
  await openAccount(page);
  const found = page.getByRole("menuitemcheckbox", { name, checked });
  await found.waitFor();
  return found;
}

/** Counts clicks by pointer. Returns a function that returns the clicks since then. */
export async function countClicks(page: Page): Promise<() => Promise<number>> {
  await page.evaluate(() => {
    const counted = globalThis as unknown as { clicks: number };
    counted.clicks = 0;
    addEventListener(
      "click",
      ({ isTrusted, detail }) => (counted.clicks += isTrusted && detail > 0 ? 1 : 0),
      true,
    );
  });
  return () => page.evaluate(() => (globalThis as unknown as { clicks: number }).clicks);
}

/** Returns the element that has the focus. */
export function focused(page: Page): Locator {
  return page.locator(":focus");
}

/** Opens the Files tab of the open conversation. */
export async function openFiles(page: Page): Promise<void> {
  await page.locator(".tab-row").getByText("Files", { exact: true }).click();
}

/** Drops files on the open conversation. Contents are repeated up to their sizes. */
export async function dropFiles(
  page: Page,
  files: { name: string; type: string; base64: string; size?: number }[],
): Promise<void> {
  const data = await page.evaluateHandle((files) => {
    const transfer = new DataTransfer();
    for (const { name, type, base64, size } of files) {
      const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
      // One blob many times: the browser keeps its bytes once.
      const part = new Blob([bytes]);
      const count = size === undefined ? 1 : Math.ceil(size / bytes.length);
      transfer.items.add(new File(Array(count).fill(part), name, { type }));
    }
    return transfer;
  }, files);
  const zone = page.locator(".conversation");
  await zone.dispatchEvent("dragover", { dataTransfer: data });
  await zone.dispatchEvent("drop", { dataTransfer: data });
  await data.dispose();
}

/** Creates a contact through the API. */
export async function makeContact(
  server: TestApp,
  user: TestUser,
  username: string,
  display_name: string | null = null,
): Promise<{ id: string; conversation_id: string }> {
  const response = await fetch(`${server.url}/v1/contacts`, {
    method: "POST",
    headers: { ...user.headers, "content-type": "application/json" },
    body: JSON.stringify({ username, phone_number: "+1 555 0100", display_name }),
  });
  assert.equal(response.status, 201);
  return (await response.json()) as { id: string; conversation_id: string };
}

const AXE = import.meta.resolve("axe-core/axe.min.js");

type Scheme = "light" | "dark";

const ALL_RULES = { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] };
/** The dark scheme changes nothing but colours. */
const COLOUR_RULES = { runOnly: ["color-contrast", "link-in-text-block"] };

/** Fails if axe-core finds a problem on the page, in light or dark. */
export async function assertAccessible(
  page: Page,
  what: string,
  choose: (scheme: Scheme) => Promise<unknown> = (colorScheme) => page.emulateMedia({ colorScheme }),
): Promise<void> {
  const isLoaded = await page.evaluate(() => "axe" in globalThis);
  if (!isLoaded) await page.evaluate(await readFile(new URL(AXE), "utf8"));
  for (const [scheme, rules] of [
    ["light", ALL_RULES],
    ["dark", COLOUR_RULES],
  ] as const) {
    await choose(scheme);
    const found = await page.evaluate(async (rules) => {
      const { axe } = globalThis as unknown as { axe: typeof import("axe-core") };
      // Only the problems: what passed is most of the result.
      const { violations } = await axe.run(document, { ...rules, resultTypes: ["violations"] });
      return violations.flatMap(({ id, help, nodes }) =>
        nodes.map((node) => `${id}: ${help} ${node.target.join(" ")} ${node.failureSummary}`),
      );
    }, rules);
    assert.deepEqual(found, [], `${what}, ${scheme}`);
  }
  await choose("light");
}

export async function assertNoSidewaysScroll(page: Page, what: string): Promise<void> {
  const [content, view] = await page.evaluate(() => [
    document.documentElement.scrollWidth,
    document.documentElement.clientWidth,
  ]);
  assert.ok(content! <= view!, `${what} is ${content} wide in ${view}`);
}

/** Runs in the page. Headless tabs never become hidden, so this overrides their visibility. */
export function setHidden(hidden: boolean): void {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}

export function hide(page: Page, hidden: boolean): Promise<void> {
  return page.evaluate(setHidden, hidden);
}
