// Push notifications while no window is open: opt-in, and end with the session.
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import type { TestApp, TestUser } from "../support/app.ts";
import { openWholeBrowser } from "../support/engines/chromium.ts";
import { assertAccessible, findSwitch, signIn, signOut } from "./browser.ts";
import { testScenesIn, type World } from "./scenes.ts";

type Noted = typeof globalThis & { ended: number };

/** Runs in the page. Replaces the push service, which headless browsers lack. */
function subscribeNowhere(): void {
  let subscription: object | null = null;
  const keys = {
    p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
    auth: "BTBZMqHH6r4Tts7J_aSIgg",
  };
  Object.assign(globalThis, { ended: 0 });
  Object.assign(PushManager.prototype, {
    getSubscription: async () => subscription,
    subscribe: async ({ userVisibleOnly, applicationServerKey }: PushSubscriptionOptionsInit) => {
      if (!userVisibleOnly || !/^B[\w-]{86}$/.test(String(applicationServerKey))) throw new Error("key");
      subscription = {
        toJSON: () => ({ endpoint: "https://push.example.com/send/1", keys }),
        unsubscribe: async () => {
          subscription = null;
          (globalThis as Noted).ended++;
          return true;
        },
      };
      return subscription;
    },
  });
}

const find = (page: Page, isOn: boolean) => findSwitch(page, "Notify while Parley is closed", isOn);
const toggle = async (page: Page, isOn: boolean) => (await find(page, isOn)).click();
const countWorkers = (page: Page) =>
  page.evaluate(async () => (await navigator.serviceWorker.getRegistrations()).length);

async function countSubscriptions(server: TestApp, { headers }: TestUser): Promise<number> {
  const response = await fetch(`${server.url}/v1/push_subscriptions`, { headers });
  return ((await response.json()) as { data: unknown[] }).data.length;
}

async function settle({ proxy, arrive }: World) {
  const ann = await arrive();
  const { page } = ann;
  await page.context().grantPermissions(["notifications"], { origin: new URL(proxy.url).origin });
  await page.addInitScript(subscribeNowhere);
  await signIn(page, proxy.url, ann.user.token);
  return ann;
}

async function turnOn(page: Page): Promise<void> {
  await toggle(page, false);
  await page.getByRole("dialog").getByText("Your browser then talks to its own push service").waitFor();
  await page.getByRole("button", { name: "Turn on" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.deepEqual(await page.getByRole("alert").allTextContents(), [""]);
  await find(page, true);
}

/** Pushes to the worker of the page, which need not be open. Returns a function that reads what it shows. */
async function openWorker(page: Page, origin: string) {
  const session = await page.context().newCDPSession(page);
  const registered = new Promise<string>((resolve) => {
    session.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
      const found = registrations.find(({ isDeleted }) => !isDeleted);
      if (found) resolve(found.registrationId);
    });
  });
  await session.send("ServiceWorker.enable");
  const registrationId = await registered;
  return () => session.send("ServiceWorker.deliverPushMessage", { origin, registrationId, data: "{}" });
}

testScenesIn(openWholeBrowser, "push notifications", {
  "push is off by default, and a push contains no name": async (world) => {
    const { server, proxy } = world;
    const { page, guard, user } = await settle(world);
    await find(page, false);
    assert.equal(await countWorkers(page), 0);
    await toggle(page, false);
    await assertAccessible(page, "the question");
    await page.keyboard.press("Escape");
    await find(page, false);
    assert.equal(await countSubscriptions(server, user), 0);
    await turnOn(page);
    assert.equal(await countSubscriptions(server, user), 1);
    const [worker] = page.context().serviceWorkers();
    const push = await openWorker(page, proxy.url);
    const listShown = () =>
      worker!.evaluate(async () => {
        const { registration } = globalThis as unknown as { registration: ServiceWorkerRegistration };
        return (await registration.getNotifications()).map(({ title, body }) => ({ title, body }));
      });
    const countWindows = () =>
      worker!.evaluate(async () => {
        const { clients } = globalThis as unknown as {
          clients: { matchAll(of: object): Promise<unknown[]> };
        };
        return (await clients.matchAll({ type: "window", includeUncontrolled: true })).length;
      });
    await page.goto("about:blank");
    // The page that was left counts as a focused window until the worker sees it go.
    while ((await countWindows()) > 0) await page.waitForTimeout(20);
    // Chromium loses a notification that is listed while it is shown. All have one tag, so that the next one replaces it.
    do {
      await push();
      await page.waitForTimeout(500);
    } while ((await listShown()).length === 0);
    assert.deepEqual(await listShown(), [{ title: "Parley", body: "You have a new message." }]);
    // Push survives a reload, and opening the page removes the notifications.
    await signIn(page, proxy.url, user.token);
    await find(page, true);
    while ((await listShown()).length > 0) await page.waitForTimeout(20);
    assert.equal(await countSubscriptions(server, user), 1);
    await toggle(page, true);
    await find(page, false);
    assert.equal(await countSubscriptions(server, user), 0);
    assert.equal(await page.evaluate(() => (globalThis as Noted).ended), 1);
    assert.equal(await countWorkers(page), 0);
    assert.deepEqual(guard.complaints, []);
  },

  "signing out ends push": async (world) => {
    const { server } = world;
    const { page, guard, user } = await settle(world);
    await turnOn(page);
    assert.equal(await countSubscriptions(server, user), 1);
    await signOut(page);
    await page.getByLabel("Access token").waitFor();
    while ((await countSubscriptions(server, user)) > 0) await page.waitForTimeout(20);
    assert.equal(await page.evaluate(() => (globalThis as Noted).ended), 1);
    assert.equal(await countWorkers(page), 0);
    assert.equal(await page.evaluate(() => localStorage.length), 0);
    assert.deepEqual(guard.complaints, []);
  },

  "push stays off if the browser refuses": async (world) => {
    const { page, guard } = await world.arrive();
    await page.context().clearPermissions();
    await toggle(page, false);
    await page.getByRole("button", { name: "Turn on" }).click();
    await page
      .getByRole("alert")
      .filter({ hasText: "Notifications while Parley is closed stay off." })
      .waitFor();
    await find(page, false);
    assert.equal(await countWorkers(page), 0);
    assert.deepEqual(guard.complaints, []);
  },
});
