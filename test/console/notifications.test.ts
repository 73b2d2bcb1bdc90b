// Browser notifications while a window is open: opt-in, and without names unless the user chooses them.
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { openWholeBrowser } from "../support/engines/chromium.ts";
import { findSwitch, hide, signIn, signOut } from "./browser.ts";
import { testScenesIn, type World } from "./scenes.ts";
import { introduce, say } from "./talk.ts";

type Noted = typeof globalThis & {
  noted: { title: string; body: string; isOpen: boolean }[];
  tags: string[];
  /** Clicks the last one. */
  click: () => void;
};

/** Runs in the page. Records the notifications that the browser is asked to show, and shows them. */
function note(): void {
  const { Notification } = globalThis;
  const noted: Noted["noted"] = [];
  const tags: string[] = [];
  const construct = (target: typeof Notification, [title, options]: [string, NotificationOptions]) => {
    const made = new target(title, options);
    const entry = { title, body: options.body!, isOpen: true };
    noted.push(entry);
    tags.push(options.tag!);
    const click = () => made.dispatchEvent(new Event("click"));
    Object.assign(globalThis, { click });
    made.close = () => {
      entry.isOpen = false;
      target.prototype.close.call(made);
    };
    return made;
  };
  const get = (target: typeof Notification, key: keyof typeof Notification) => {
    const value = target[key];
    return key === "requestPermission" ? target.requestPermission.bind(target) : value;
  };
  Object.assign(globalThis, { noted, tags, Notification: new Proxy(Notification, { construct, get }) });
}

const listNoted = (page: Page) => page.evaluate(() => (globalThis as Noted).noted);
const count = (page: Page, wanted: number) =>
  page.waitForFunction((wanted) => (globalThis as Noted).noted.length === wanted, wanted);
const find = (page: Page, isOn: boolean) => findSwitch(page, "Notify while Parley is open", isOn);
const toggle = async (page: Page, isOn: boolean) => (await find(page, isOn)).click();

async function settle({ server, proxy, arrive }: World) {
  const bob = await server.user();
  const ann = await arrive();
  const id = await introduce(server, ann.user, bob);
  await ann.page.context().grantPermissions(["notifications"], { origin: new URL(proxy.url).origin });
  await ann.page.addInitScript(note);
  await signIn(ann.page, proxy.url, ann.user.token);
  await ann.page.getByRole("option", { name: "Bob" }).waitFor();
  return { ...ann, bob, id };
}

async function put(world: World, headers: Record<string, string>, path: string, body: object): Promise<void> {
  const init = { headers: { ...headers, "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(`${world.server.url}/v1/conversations/${path}`, { method: "PUT", ...init });
  assert.ok(response.ok, `${response.status}`);
}

testScenesIn(openWholeBrowser, "notifications", {
  "notifications are off by default": async (world) => {
    const { server } = world;
    const { page, guard, bob, id } = await settle(world);
    await find(page, false);
    await hide(page, true);
    await say(server, bob, id, "psst");
    await page.getByRole("option").filter({ hasText: "psst" }).waitFor();
    assert.deepEqual(await listNoted(page), []);
    await hide(page, false);
    assert.deepEqual(guard.complaints, []);
  },

  "a hidden window notifies of a message without names, and removes the notification when it is read": async (
    world,
  ) => {
    const { server } = world;
    const { page, guard, user, bob, id } = await settle(world);
    await toggle(page, false);
    await find(page, true);
    assert.deepEqual(await listNoted(page), [
      { title: "Parley", body: "Notifications are on.", isOpen: true },
    ]);
    // A user who looks sees the message itself.
    await say(server, bob, id, "seen");
    await page.getByRole("option").filter({ hasText: "seen" }).waitFor();
    await hide(page, true);
    const secret = await say(server, bob, id, "secret");
    await count(page, 2);
    const wanted = { title: "Parley", body: "You have a new message." };
    assert.deepEqual((await listNoted(page)).at(-1), { ...wanted, isOpen: true });
    // A message read on another device is no longer new.
    await put(world, user.headers, `${id}/read`, { message_id: secret.id });
    await page.waitForFunction(() => !(globalThis as Noted).noted.at(-1)!.isOpen);
    // `notify` decides: a muted conversation notifies only of mentions.
    await put(world, user.headers, id, { muted_until: 99_999_999_999 });
    await say(server, bob, id, "quiet");
    await say(server, bob, id, "loud", { mentions: [user.id] });
    await page.getByRole("option").filter({ hasText: "loud" }).waitFor();
    assert.deepEqual((await listNoted(page)).slice(2), [{ ...wanted, isOpen: true }]);
    await hide(page, false);
    await page.waitForFunction(() => !(globalThis as Noted).noted.at(-1)!.isOpen);
    // After turning off, nothing is shown.
    await toggle(page, true);
    await find(page, false);
    await hide(page, true);
    await say(server, bob, id, "silent", { mentions: [user.id] });
    await page.getByRole("option").filter({ hasText: "silent" }).waitFor();
    assert.equal((await listNoted(page)).length, 3);
    assert.deepEqual(guard.complaints, []);
  },

  "a hidden window does not notify while the user looks at another one": async (world) => {
    const { server, proxy } = world;
    const { page, guard, user, bob, id } = await settle(world);
    await toggle(page, false);
    await find(page, true);
    await page.keyboard.press("Escape");
    const other = await page.context().newPage();
    await signIn(other, proxy.url, user.token);
    await other.getByRole("option", { name: "Bob" }).waitFor();
    await hide(page, true);
    await say(server, bob, id, "seen there");
    await page.getByRole("option").filter({ hasText: "seen there" }).waitFor();
    await page.evaluate(() => navigator.locks.query());
    assert.equal((await listNoted(page)).length, 1);
    await hide(other, true);
    await say(server, bob, id, "seen nowhere");
    await count(page, 2);
    assert.deepEqual(guard.complaints, []);
  },

  "notifications with names are one for each conversation, and open it": async (world) => {
    const { server } = world;
    const { page, guard, user, bob, id } = await settle(world);
    const cat = await server.user();
    const other = await introduce(server, user, cat);
    await toggle(page, false);
    await (await findSwitch(page, "Show names in notifications", false)).click();
    await findSwitch(page, "Show names in notifications", true);
    await page.keyboard.press("Escape");
    await hide(page, true);
    await say(server, bob, id, "secret");
    await count(page, 2);
    await say(server, bob, id, "secret too");
    await count(page, 3);
    await say(server, cat, other, "from another");
    await count(page, 4);
    const toName = async (id: string) => {
      const response = await fetch(`${server.url}/v1/conversations/${id}`, { headers: user.headers });
      return ((await response.json()) as { name: string }).name;
    };
    const [one, two] = [await toName(id), await toName(other)];
    assert.deepEqual((await listNoted(page)).slice(1), [
      { title: one, body: "You have a new message.", isOpen: true },
      { title: one, body: "You have 2 new messages.", isOpen: true },
      { title: two, body: "You have a new message.", isOpen: true },
    ]);
    assert.equal(await page.evaluate(() => new Set((globalThis as Noted).tags.slice(1)).size), 2);
    await page.evaluate(() => (globalThis as Noted).click());
    await page.locator(".bubble").getByText("from another").waitFor();
    await hide(page, false);
    await page.waitForFunction(() => (globalThis as Noted).noted.slice(-2).every(({ isOpen }) => !isOpen));
    assert.deepEqual(guard.complaints, []);
  },

  "notifications stay on after a reload, for one user only": async (world) => {
    const { server, proxy } = world;
    const { page, guard, user } = await settle(world);
    await toggle(page, false);
    await find(page, true);
    await signIn(page, proxy.url, user.token);
    await find(page, true);
    await signOut(page);
    await signIn(page, proxy.url, (await server.user()).token);
    await find(page, false);
    assert.deepEqual(guard.complaints, []);
  },

  "notifications stay off if the browser refuses": async (world) => {
    const { page, guard } = await world.arrive();
    await page.context().clearPermissions();
    await toggle(page, false);
    await page.getByRole("alert").filter({ hasText: "Notifications stay off." }).waitFor();
    await find(page, false);
    assert.deepEqual(guard.complaints, []);
  },
});
