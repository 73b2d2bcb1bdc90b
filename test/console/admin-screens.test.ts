// Checks each screen of the administration at four widths: no horizontal scrolling, large touch targets, and in each
// layout accessible in light and dark.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import { upload } from "../support/app.ts";
import { noChromium } from "../support/engines/chromium.ts";
import { hook, newest } from "../support/hooks.ts";
import { receiver } from "../support/receiver.ts";
import { assertAccessible, assertNoSidewaysScroll } from "./browser.ts";
import { addUser, dialog, type Office, openOffice, press, sendNote } from "./in-admin.ts";

const LONG = "averylongnamewithoutanyplacetobreakit".repeat(3);

/** Creates people, a webhook that fails and one that works. Returns the places to visit. */
async function furnish(t: TestContext, { server, admin, ask }: Office): Promise<string[]> {
  const bob = await addUser(server, "bob", { name: LONG });
  assert.equal((await ask("POST", "/v1/users", { username: LONG })).status, 201);
  assert.equal((await upload(server.url, bob, new File(["x".repeat(950)], "a.txt"))).status, 201);
  const to = await receiver(t, (response) => response.writeHead(500).end(LONG.repeat(3)));
  const failing = await hook(server, bob, to, { events: ["message.created", "contact.created"] });
  await hook(server, admin, await receiver(t), { all_users: true });
  await sendNote(server, bob, "hello");
  await newest(server, bob, failing, { last_status: 500 });
  return [
    ...["admin", "admin/users", `admin/users/${bob.id}`, "admin/users/usr_none", "admin/tokens"],
    ...["admin/webhooks", `admin/webhooks/${failing.id}`, "admin/audit", "admin/audit?about=nothing"],
  ];
}

/** Fails for links and buttons that are too small to touch. */
async function assertTouchable(page: Page, what: string): Promise<void> {
  const small = await page.evaluate(() =>
    [
      ...document.querySelectorAll<HTMLElement>(
        ".admin-nav a, .admin .button, .admin .icon-button, .admin .field",
      ),
    ]
      .filter((each) => each.getBoundingClientRect().height < 44)
      .map((each) => each.outerHTML),
  );
  assert.deepEqual(small, [], what);
}

async function lookAtDialogs(
  page: Page,
  url: string,
  places: string[],
  look: (what: string) => Promise<void>,
) {
  const open = async (place: string, button: string) => {
    await page.goto(`${url}/#${place}`);
    await press(page, button);
    await dialog(page).waitFor();
    await look(button);
  };
  await open("admin/users", "Create a user");
  await page.keyboard.press("Escape");
  await open(places[2]!, "Erase user");
  await page.keyboard.press("Escape");
  for (const button of ["Create a webhook", "Revoke a leaked token"]) {
    await open(button.includes("webhook") ? "admin/webhooks" : "admin", button);
    await page.keyboard.press("Escape");
  }
  await open(places[2]!, "Change");
  await page.keyboard.press("Escape");
  await open("admin/audit", "Export");
  await page.keyboard.press("Escape");
  await open(places[2]!, "Create a token");
  await dialog(page).getByText("On a date").click();
  await look("a date");
  await dialog(page).getByText("Never").click();
  await dialog(page).getByRole("button", { name: "Create" }).click();
  await dialog(page).getByLabel("Token", { exact: true }).waitFor();
  await press(page, "Done");
  await look("the token");
  await press(page, "Done");
  await press(page, "Revoke Unnamed");
  await look("revoke");
}

for (const [width, height] of [
  [390, 844],
  [820, 1100],
  [1280, 800],
  [1920, 1080],
] as const) {
  test(`the screens of the administration at ${width} pixels`, { skip: noChromium }, async (t) => {
    const isPhone = width === 390;
    const office = await openOffice(
      t,
      undefined,
      { userQuotaBytes: 1000 },
      { viewport: { width, height }, hasTouch: isPhone, isMobile: isPhone },
    );
    const { page, guard, server } = office;
    const places = await furnish(t, office);
    const look = async (what: string) => {
      await page.waitForFunction(() => !document.querySelector(".reading, [aria-busy=true]"));
      await assertNoSidewaysScroll(page, what);
      // The widest screens have the layout of the ones before.
      if (width < 1900) await assertAccessible(page, what);
      if (isPhone) await assertTouchable(page, what);
    };
    const toasts = () => page.locator(".toasts").evaluate(({ clientHeight }) => clientHeight);
    assert.equal(await toasts(), 0, "without notices");
    for (const place of places) {
      await page.goto(`${server.url}/#${place}`);
      await page.locator("h1").waitFor();
      await page.waitForTimeout(300);
      await look(place);
      const [inside] = await page
        .locator(".admin-main")
        .evaluateAll((all) => all.map((each) => each.scrollWidth <= each.clientWidth));
      assert.ok(inside, `${place} fits`);
    }
    await lookAtDialogs(page, server.url, places, look);
    assert.deepEqual(guard.complaints, []);
  });
}
