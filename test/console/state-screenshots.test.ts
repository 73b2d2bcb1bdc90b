// Tests the screens of dialogs and states. PARLEY_PICTURES=1 npm run t test/console/state-screenshots.test.ts takes
// their pictures again.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { BrowserContextOptions, Page } from "playwright-core";
import { startApp, type TestApp, type TestUser, upload } from "../support/app.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import { type Contact, read, send } from "../support/people.ts";
import { choose, openAccount, signIn } from "./browser.ts";
import { dialog, press } from "./in-admin.ts";
import { DESK, furnish, makeClub, PHONE, pressEscape, type Step, takeTour } from "./in-screenshots.ts";
import { find, write } from "./talk.ts";

const QUOTA = 5_000_000;

/** Invites Mary to a group, archives and blocks contacts, and almost fills her storage. */
async function unsettle(server: TestApp, mary: TestUser, grace: TestUser): Promise<void> {
  const fields = {
    name: "Harbour walks",
    description: "Sundays at six, from the lighthouse to the pier",
    members: ["mary"],
  };
  await read(send(server, grace, "POST", "/v1/groups", fields), 201);
  const contacts = await read<{ data: (Contact & { username: string })[] }>(
    send(server, mary, "GET", "/v1/contacts?limit=100"),
    200,
  );
  for (const { username, conversation_id } of contacts.data) {
    if (!["barbara", "radia"].includes(username)) continue;
    const archived = send(server, mary, "PUT", `/v1/conversations/${conversation_id}`, { is_archived: true });
    await read(archived, 200);
  }
  assert.equal((await send(server, mary, "PUT", "/v1/blocks/edsger")).status, 204);
  const recording = new File([Buffer.alloc(4_640_000, 1)], "rehearsal.wav");
  assert.equal((await upload(server.url, mary, recording)).status, 201);
}

const show = (page: Page, list: string) =>
  page.getByRole("group", { name: "Which contacts are listed" }).getByText(list, { exact: true }).click();
const openGrace = async (page: Page) => {
  await page.getByRole("option", { name: "Grace Hopper" }).click();
  await find(page, "Wonderful").waitFor();
};

const OUTSIDE: readonly Step[] = [
  [
    "sign-in-refused",
    async (page, url) => {
      await page.goto(`${url}/`);
      await page.getByLabel("Access token").fill("parley_of_another_server");
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("alert").filter({ hasText: "does not accept" }).waitFor();
    },
  ],
];

const OF_LISTS: readonly Step[] = [
  [
    "invitation",
    async (page) => {
      await page.getByRole("link", { name: "Harbour walks" }).click();
      await page.getByRole("heading", { name: /invited you/ }).waitFor();
    },
  ],
  [
    "create-group",
    async (page) => {
      await press(page, "Create a group");
      await dialog(page).getByLabel("Name", { exact: true }).fill("Translators");
      for (const username of ["ada", "alan"]) {
        await page.getByRole("combobox", { name: "Invite" }).fill(username);
        await page.keyboard.press("Enter");
      }
    },
  ],
  [
    "archived",
    async (page) => {
      await pressEscape(page);
      await openGrace(page);
      await show(page, "Archived");
      await page.getByRole("option", { name: "Barbara Liskov" }).waitFor();
    },
  ],
  [
    "blocked",
    async (page) => {
      await show(page, "Blocked");
      await page.getByRole("option", { name: "Edsger Dijkstra" }).click();
      await page.getByRole("heading", { name: "Edsger Dijkstra" }).waitFor();
    },
  ],
];

const OF_A_CONVERSATION: readonly Step[] = [
  [
    "conversation-settings",
    async (page) => {
      await openGrace(page);
      await choose(page, "Conversation settings");
      await dialog(page)
        .getByLabel(/^Pinned/)
        .check();
      await dialog(page).getByLabel("Muted").selectOption({ label: "Always" });
    },
  ],
  [
    "message-search",
    async (page) => {
      await pressEscape(page);
      await page.keyboard.press("Control+f");
      await page.keyboard.type("the");
      await page.getByRole("status").filter({ hasText: "3 found" }).waitFor();
    },
  ],
  [
    "shortcuts",
    async (page) => {
      await pressEscape(page);
      await find(page, "Wonderful").click();
      await page.keyboard.press("?");
      await dialog(page).getByText("Show this list").waitFor();
    },
  ],
  [
    "storage-full",
    async (page) => {
      await pressEscape(page);
      await openAccount(page);
      await page.getByText("Almost full.").waitFor();
    },
  ],
  [
    "push",
    async (page) => {
      await page.getByRole("menuitemcheckbox", { name: "Notify while Parley is closed" }).click();
      await dialog(page).getByText("talks to its own push service").waitFor();
    },
  ],
  [
    "offline",
    async (page) => {
      await pressEscape(page);
      await page.getByRole("menuitem").first().waitFor();
      await pressEscape(page);
      await page.context().setOffline(true);
      await write(page, "I am on the train, so this may take a while.");
      await page.getByText("Not sent yet, trying again").waitFor();
      await find(page, "on the train").waitFor();
    },
  ],
];

const ON_A_PHONE: readonly Step[] = [
  [
    "phone-viewer",
    async (page) => {
      await openGrace(page);
      await page.getByRole("button", { name: "Open harbour" }).click();
      const picture = dialog(page).getByRole("img", { name: "harbour" });
      await picture.evaluate((image: HTMLImageElement) => image.decode());
    },
  ],
  [
    "phone-create-group",
    async (page) => {
      await pressEscape(page);
      await page.getByRole("button", { name: "Back to contacts" }).click();
      await press(page, "Create a group");
      await dialog(page).getByLabel("Name", { exact: true }).fill("Translators");
    },
  ],
];

test("each documented dialog and state exists and fits", { skip: noChromium }, async (t) => {
  const server = await startApp(t, { userQuotaBytes: QUOTA });
  const people = await furnish(server);
  await makeClub(server, people);
  const [mary, , grace] = people;
  await unsettle(server, mary, grace);
  const browser = await openBrowser(t);
  const tour = (steps: readonly Step[], options: BrowserContextOptions, user?: TestUser) =>
    takeTour(browser, server.url, steps, options, user && ((page) => signIn(page, server.url, user.token)));
  await tour(OUTSIDE, DESK);
  await tour(OF_LISTS, DESK, mary);
  await tour(ON_A_PHONE, PHONE, mary);
  await tour(OF_A_CONVERSATION, DESK, mary);
});
