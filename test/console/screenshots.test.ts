// The pictures of docs/pictures. PARLEY_PICTURES=1 runtime/node --test test/console/screenshots.test.ts takes them anew.
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import { createToken } from "../../src/core/access/tokens.ts";
import { createUser } from "../../src/core/users.ts";
import { startApp, type TestApp, type TestUser } from "../support/app.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import { read, send } from "../support/people.ts";
import {
  assertAccessible,
  assertNoSidewaysScroll,
  dropFiles,
  makeContact,
  openAccount,
  openFiles,
  openPage,
  signIn,
} from "./browser.ts";
import { paint } from "./pictures.ts";
import { find, say, write } from "./talk.ts";

const FOLDER = fileURLToPath(new URL("../../docs/pictures/", import.meta.url));
/** It writes into docs/. */
const isAsked = Boolean(process.env.PARLEY_PICTURES);
const PEOPLE = [
  ["radia", "Radia Perlman"],
  ["edsger", "Edsger Dijkstra"],
  ["katherine", "Katherine Johnson"],
  ["alan", "Alan Kay"],
  ["margaret", "Margaret Hamilton"],
  ["barbara", "Barbara Liskov"],
  ["ada", "Ada Lovelace"],
  ["grace", "Grace Hopper"],
] as const;

/** Hills one behind the other below a sky, all in shades between two colours. */
function hills(sky: [number, number, number], ground: [number, number, number], phase: number) {
  return paint(1200, 750, (x, y) => {
    const ridges = [0.5, 0.62, 0.76, 0.9].map(
      (height, index) => height - 0.07 * Math.sin((x * (3 + index) + phase + index * 1.7) * 2.1),
    );
    const depth = ridges.filter((ridge) => y > ridge).length;
    const sun = Math.hypot((x - 0.72) * 1.6, y - 0.26) < 0.09 && depth === 0 ? 26 : 0;
    const part = depth === 0 ? y * 0.25 : 0.25 + depth * 0.18;
    return sky.map((value, at) => value + (ground[at]! - value) * part + sun) as [number, number, number];
  });
}

const BOARD = hills([250, 214, 178], [38, 60, 74], 0.4);
const HARBOUR = hills([178, 216, 232], [22, 66, 78], 2.2);
const DUNES = hills([246, 232, 200], [142, 86, 52], 4.1);

const REPORT = new File([Buffer.alloc(48_300, "%PDF-1.7\n")], "Quarterly report.pdf");
const PICTURES = [
  new File([HARBOUR], "harbour at six.png"),
  new File([BOARD], "hills.png"),
  new File([DUNES], "dunes.png"),
];

/** Mary, her contacts, and what two of them and she have written. */
async function furnish(server: TestApp): Promise<[mary: TestUser, ada: TestUser, grace: TestUser]> {
  const mary = await addUser(server, "mary", "Mary Jackson");
  const conversations = new Map<string, string>();
  for (const [username, name] of PEOPLE)
    conversations.set(username, (await makeContact(server, mary, username, name)).conversation_id);
  const talk = async (user: TestUser, username: string, text: string, files: File[] = []) => {
    const form = new FormData();
    form.append("conversation_id", conversations.get(username)!);
    form.append("text", text);
    for (const file of files) form.append("file", file);
    const options = { method: "POST", headers: user.headers, body: form };
    assert.equal((await fetch(`${server.url}/v1/messages`, options)).status, 201);
  };
  const [ada, grace] = [await addUser(server, "ada", "Ada"), await addUser(server, "grace", "Grace")];
  for (const user of [ada, grace]) await makeContact(server, user, "mary", "Mary");
  await talk(mary, "barbara", "See you on Thursday then");
  await talk(ada, "ada", "The engine weaves!");
  await talk(ada, "ada", "Can you look at note G before Friday?");
  await talk(grace, "grace", "Morning, Mary! These are from the walk. Which one is for the cover?", PICTURES);
  await talk(mary, "grace", "The harbour. The light is just right.");
  await talk(mary, "grace", "And here is the report, with your numbers in it.", [REPORT]);
  await talk(grace, "grace", "Wonderful, I'll read it tonight.");
  return [mary, ada, grace];
}

/** A group of Mary's with Ada and Grace, and what they have said there. */
async function makeClub(server: TestApp, [mary, ada, grace]: readonly TestUser[]): Promise<void> {
  const fields = { name: "Book club", members: ["ada", "grace"] };
  const { id, conversation_id } = await read<{ id: string; conversation_id: string }>(
    send(server, mary!, "POST", "/v1/groups", fields),
    201,
  );
  const about = { description: "Every second Tuesday, at Ada's" };
  await read(send(server, mary!, "PUT", `/v1/groups/${id}`, about), 200);
  for (const user of [ada!, grace!]) await read(send(server, user, "POST", `/v1/groups/${id}/join`), 200);
  await say(server, ada!, conversation_id, "Shall we read the sketch of the engine next?");
  await say(server, grace!, conversation_id, "Gladly. I have two copies.");
  await say(server, grace!, conversation_id, "Who needs one?");
  await say(server, mary!, conversation_id, "Me, please. And bring the notes, they are the best part of it.");
}

async function addUser(server: TestApp, username: string, display_name: string): Promise<TestUser> {
  const { id } = await createUser(server.app.core, null, { username, display_name });
  const { token } = await createToken(server.app.core, null, id, {});
  return { id, token, headers: { authorization: `Bearer ${token}` } };
}

/** Takes the picture where that is asked for. */
async function shoot(page: Page, name: string): Promise<void> {
  if (!isAsked) return;
  await mkdir(FOLDER, { recursive: true });
  await page.waitForTimeout(300);
  await page.screenshot({ path: `${FOLDER}${name}.png` });
}

test("what the pictures of the documentation show is there", { skip: noChromium }, async (t) => {
  const server = await startApp(t, { userQuotaBytes: 2_000_000_000, maxFileBytes: 0 });
  const [user] = await furnish(server);
  const { page, guard } = await openPage(await openBrowser(t), server.url, {
    viewport: { width: 1280, height: 760 },
    deviceScaleFactor: 1.5,
  });
  await signIn(page, server.url, user.token);
  await page.getByRole("option", { name: "Grace Hopper" }).click();
  await find(page, "Wonderful").waitFor();
  // As slow as a network that is not this machine's own, so that the progress is seen. Where no picture is taken it is
  // slower yet: the file is still on its way when all else was looked at, however slow the machine.
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
    { name: "rehearsal.mov", type: "video/quicktime", base64: btoa("x".repeat(1e6)), size: 64_000_000 },
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

/** That there are so many pictures, drawn and not merely asked for. */
async function showWhole(pictures: Locator, count: number): Promise<void> {
  await pictures.nth(count - 1).waitFor();
  const widths = await pictures.evaluateAll((all) =>
    Promise.all((all as HTMLImageElement[]).map((each) => each.decode().then(() => each.naturalWidth))),
  );
  assert.deepEqual(widths, Array(count).fill(1200));
}

type Step = readonly [picture: string, open: (page: Page, url: string) => Promise<void>];

const openBookClub = async (page: Page) => {
  await page.getByRole("option", { name: "Book club" }).click();
  await find(page, "Me, please.").waitFor();
};
const pressEscape = (page: Page) => page.keyboard.press("Escape");

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
    "api-reference",
    async (page, url) => {
      await page.goto(`${url}/docs`);
      // Half a megabyte to render, on a busy machine.
      await page.getByText("List contacts").first().waitFor();
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
const DESK = { viewport: { width: 1280, height: 760 } };
const PHONE = { viewport: { width: 390, height: 760 }, isMobile: true, hasTouch: true };

test("each screen of the documentation is there and fits", { skip: noChromium }, async (t) => {
  const server = await startApp(t, { userQuotaBytes: 2_000_000_000 });
  const people = await furnish(server);
  await makeClub(server, people);
  const browser = await openBrowser(t);
  const tour = async (steps: readonly Step[], options: BrowserContextOptions, user?: TestUser) => {
    const { page, guard } = await openPage(browser, server.url, options);
    if (user) await signIn(page, server.url, user.token);
    for (const [picture, open] of steps) {
      await open(page, server.url);
      await assertNoSidewaysScroll(page, picture);
      // What Swagger UI makes is its own.
      if (picture !== "api-reference") await assertAccessible(page, picture);
      await page.emulateMedia({ colorScheme: options.colorScheme ?? "light" });
      await shoot(page, picture);
    }
    assert.deepEqual(guard.complaints, []);
  };
  await tour(OUTSIDE, DESK);
  await tour(AT_FIRST, DESK, await addUser(server, "katherine-2", "Katherine"));
  await tour(ON_A_DESK, DESK, people[0]);
  await tour(ON_A_PHONE, { ...PHONE, colorScheme: "dark" }, people[0]);
  await tour(ON_A_WIDE_SCREEN, { viewport: { width: 1920, height: 1000 } }, people[0]);
});
