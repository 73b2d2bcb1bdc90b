// Tests the screens of docs/pictures. PARLEY_PICTURES=1 npm run t "test/console/*screenshots.test.ts" takes the
// pictures again.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { BrowserContextOptions } from "playwright-core";
import { startApp, type TestUser } from "../support/app.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import { dropFiles, openAccount, openFiles, openPage, signIn } from "./browser.ts";
import {
  addPerson,
  DESK,
  furnish,
  isAsked,
  makeClub,
  openBookClub,
  PEOPLE,
  PHONE,
  PICTURES,
  pressEscape,
  type Step,
  shoot,
  showWhole,
  takeTour,
} from "./in-screenshots.ts";
import { find, write } from "./talk.ts";

test("every screen in the documentation's pictures exists", { skip: noChromium }, async (t) => {
  const server = await startApp(t, { userQuotaBytes: 2_000_000_000, maxFileBytes: 0 });
  const [user] = await furnish(server);
  const { page, guard } = await openPage(await openBrowser(t), server.url, {
    viewport: { width: 1280, height: 760 },
    deviceScaleFactor: 1.5,
  });
  await signIn(page, server.url, user.token);
  await page.getByRole("option", { name: "Grace Hopper" }).click();
  await find(page, "Wonderful").waitFor();
  // Throttled like a slow network, so that progress is visible. Slower still without pictures: the file must still be
  // uploading after all checks, on any machine.
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  await session.send("Network.emulateNetworkConditions", {
    ...{
      offline: false,
      latency: 0,
      downloadThroughput: -1,
      uploadThroughput: isAsked ? 9_000_000 : 1_000_000,
    },
  });
  await dropFiles(page, [
    { name: "rehearsal.mov", type: "video/quicktime", base64: btoa("\0".repeat(1e6)), size: 64_000_000 },
  ]);
  await write(page, "The rehearsal, as promised");
  await page.getByRole("progressbar", { name: "Files sent" }).waitFor();
  await page.getByRole("textbox", { name: "Message to Grace Hopper" }).fill("It is long, so");
  if (isAsked) await page.waitForTimeout(2500);
  const rows = page.getByRole("option");
  assert.deepEqual(
    await rows.locator(".contact-name").allTextContents(),
    PEOPLE.map(([, name]) => name).toReversed(),
  );
  await rows.filter({ hasText: /Ada Lovelace.*note G.*2 unread/ }).waitFor();
  await rows.filter({ hasText: /Barbara Liskov.*You: See you on Thursday then/ }).waitFor();
  await page.waitForFunction(() => document.title === "(1) Grace Hopper · Parley");
  await openAccount(page);
  await page.getByText("of 2 GB stored").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("textbox", { name: "Message to Grace Hopper" }).focus();
  await find(page, "with your numbers").getByRole("button", { name: "Open Quarterly report.pdf" }).waitFor();
  await showWhole(page.locator(".message-thumb img"), PICTURES.length);
  await shoot(page, "console");
  await find(page, "as promised").getByRole("button", { name: "Cancel" }).click();
  await page.emulateMedia({ colorScheme: "dark" });
  await page.getByRole("button", { name: "Open harbour" }).click();
  await showWhole(page.getByRole("dialog").getByRole("img", { name: "harbour" }), 1);
  const dark = await page.locator(".dialog").evaluate((dialog) => getComputedStyle(dialog).backgroundColor);
  assert.equal(dark, "rgb(25, 30, 28)");
  await shoot(page, "console-dark");
  assert.deepEqual(guard.complaints, []);
});

const ON_A_DESK: readonly Step[] = [
  [
    "account",
    async (page) => {
      await page.getByRole("option", { name: "Grace Hopper" }).waitFor();
      await openAccount(page);
      await page.getByRole("menuitem", { name: "Sign out" }).waitFor();
    },
  ],
  [
    "switcher",
    async (page) => {
      await pressEscape(page);
      await page.keyboard.press("Control+k");
      await page.keyboard.type("lov");
      await page.getByRole("dialog").getByRole("option", { name: "Ada Lovelace", selected: true }).waitFor();
    },
  ],
  [
    "search",
    async (page) => {
      await pressEscape(page);
      await page.getByRole("searchbox").fill("harbour");
      await page.getByRole("listbox", { name: "Messages found" }).getByRole("option").first().click();
      await find(page, "The harbour.").waitFor();
    },
  ],
  [
    "files",
    async (page) => {
      await page.getByRole("searchbox").fill("");
      await openFiles(page);
      await page.getByRole("button", { name: "Open dunes.png" }).waitFor();
      await page.getByRole("button", { name: "More", exact: true }).click();
      await page.getByRole("menuitem", { name: "Block contact" }).waitFor();
    },
  ],
  [
    "members",
    async (page) => {
      await pressEscape(page);
      await openBookClub(page);
      await page.getByRole("button", { name: "Members of Book club" }).click();
      await page.getByRole("button", { name: "Actions: Grace" }).waitFor();
    },
  ],
];
const ON_A_PHONE: readonly Step[] = [
  ["phone-list", (page) => page.getByRole("option", { name: "Book club" }).waitFor()],
  ["phone-conversation", openBookClub],
];
const ON_A_WIDE_SCREEN: readonly Step[] = [
  [
    "wide",
    async (page) => {
      await openBookClub(page);
      await page.getByRole("complementary", { name: "About Book club" }).getByText("Admin").waitFor();
    },
  ],
];
const AT_FIRST: readonly Step[] = [
  ["first-contact", (page) => page.getByRole("button", { name: "Add your first contact" }).waitFor()],
];
const OUTSIDE: readonly Step[] = [
  [
    "sign-in",
    async (page, url) => {
      await page.goto(`${url}/`);
      await page.getByLabel("Access token").waitFor();
    },
  ],
  [
    "docs",
    async (page, url) => {
      await page.goto(`${url}/docs/`);
      await page.getByRole("heading", { name: "Parley", level: 1 }).waitFor();
    },
  ],
  [
    "api-reference",
    async (page, url) => {
      await page.goto(`${url}/docs/reference/contacts.html`);
      await page.getByRole("heading", { name: "List contacts" }).waitFor();
    },
  ],
  [
    "error-code",
    async (page, url) => {
      await page.goto(`${url}/docs/errors/quota_exceeded`);
      await page.getByRole("heading", { name: "Storage quota exceeded" }).waitFor();
    },
  ],
];

test("each documented screen exists and fits", { skip: noChromium }, async (t) => {
  const server = await startApp(t, { userQuotaBytes: 2_000_000_000 });
  const people = await furnish(server);
  await makeClub(server, people);
  const browser = await openBrowser(t);
  const tour = (steps: readonly Step[], options: BrowserContextOptions, user?: TestUser) =>
    takeTour(browser, server.url, steps, options, user && ((page) => signIn(page, server.url, user.token)));
  await tour(OUTSIDE, DESK);
  await tour(AT_FIRST, DESK, await addPerson(server, "katherine-2", "Katherine"));
  await tour(ON_A_DESK, DESK, people[0]);
  await tour(ON_A_PHONE, { ...PHONE, colorScheme: "dark" }, people[0]);
  await tour(ON_A_WIDE_SCREEN, { viewport: { width: 1920, height: 1000 } }, people[0]);
});
