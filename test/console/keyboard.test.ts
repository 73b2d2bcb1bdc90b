// The console by keyboard alone: menus, the quick switcher, shortcuts, and one tab stop per list.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { scoreName } from "../../console/src/search/fuzzy.ts";
import { noChromium } from "../support/engines/chromium.ts";
import { send } from "../support/people.ts";
import { assertAccessible, focused, makeContact, openAccount } from "./browser.ts";
import { assertQuiet, gather, makeGroup } from "./in-groups.ts";
import { testScenes } from "./scenes.ts";
import { act, find, introduce, say } from "./talk.ts";

const press = async (page: Page, ...keys: string[]) => {
  for (const key of keys) await page.keyboard.press(key);
};

test("names match by prefixes, initials and letters in order", () => {
  const rank = (typed: string, names: string[]) =>
    names
      .flatMap((name) => {
        const score = scoreName(name, typed);
        return score === undefined ? [] : [{ name, score }];
      })
      .sort((a, b) => b.score - a.score)
      .map(({ name }) => name);
  const names = ["Barbara Liskov", "Ada Lovelace", "Éva Tardos", "Alan Kay", "Radia Perlman"];
  assert.deepEqual(rank("ada", names), ["Ada Lovelace", "Radia Perlman"]);
  assert.deepEqual(rank("al", names)[0], "Alan Kay");
  assert.deepEqual(rank("eva", names), ["Éva Tardos"]);
  assert.deepEqual(rank("ak", names)[0], "Alan Kay");
  assert.deepEqual(rank("lov", names), ["Ada Lovelace", "Barbara Liskov"]);
  assert.deepEqual(rank("xyz", names), []);
  assert.deepEqual(rank("", names).length, names.length);
});

testScenes("the keyboard", {
  "the name of a conversation opens the person, or the members": async ({ server, arrive }) => {
    const { page, guard } = await arrive(async (user) => {
      await makeContact(server, user, "ada");
      await send(server, user, "POST", "/v1/groups", { name: "Climbers" });
    });
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 800 });
      for (const [name, title] of [
        ["ada", "About ada"],
        ["Climbers", "Members of Climbers"],
      ] as const) {
        await page.getByRole("option", { name }).click();
        const button = page.getByRole("heading", { name, level: 1 }).getByRole("button");
        await page.getByRole("button", { name: /^(?:Rename contact|Edit) / }).focus();
        await press(page, "Shift+Tab");
        await button.and(focused(page)).waitFor();
        assert.equal(await button.evaluate((each) => getComputedStyle(each).outlineStyle), "solid");
        await press(page, "Enter");
        const dialog = page.getByRole("dialog", { name: title });
        await dialog.waitFor();
        if (name === "ada") await dialog.getByText("+1 555 0100").waitFor();
        assert.equal(await dialog.getByRole("button", { name: "Open the conversation" }).count(), 0);
        await assertAccessible(page, `${title}, ${width}`);
        await press(page, "Escape");
        await button.and(focused(page)).waitFor();
        await page.evaluate(() => location.replace("#"));
      }
    }
    assert.deepEqual(guard.complaints, []);
  },

  "a menu opens, moves the focus inside, and returns it": async ({ server, arrive }) => {
    const { page, guard } = await arrive((user) => makeContact(server, user, "ada"));
    await page.getByRole("option", { name: "ada" }).click();
    const more = page.getByRole("button", { name: "More", exact: true });
    await more.focus();
    await press(page, "Enter");
    const item = (name: string) => page.getByRole("menuitem", { name }).and(focused(page));
    await item("Conversation settings").waitFor();
    await assertAccessible(page, "the menu of a conversation");
    await press(page, "ArrowDown");
    await item("Block contact").waitFor();
    await press(page, "End");
    await item("Delete contact").waitFor();
    await press(page, "ArrowDown");
    await item("Conversation settings").waitFor();
    await press(page, "ArrowUp");
    await item("Delete contact").waitFor();
    await press(page, "b");
    await item("Block contact").waitFor();
    // With a modifier, these keys belong to the browser.
    await press(page, "Control+c", "Alt+ArrowUp", "Control+Home");
    await item("Block contact").waitFor();
    await press(page, "Escape");
    await page.getByRole("menu").waitFor({ state: "detached" });
    await more.and(focused(page)).waitFor();
    assert.equal(await more.getAttribute("aria-expanded"), "false");
    // Tab continues after the button; a click elsewhere also closes the menu.
    await press(page, "ArrowDown");
    await item("Conversation settings").waitFor();
    await press(page, "Tab");
    await page.getByRole("menu").waitFor({ state: "detached" });
    assert.equal(await more.and(focused(page)).count(), 0);
    await more.click();
    await page.getByRole("menu").waitFor();
    await page.locator(".conversation-title").getByText("@ada").click();
    await page.getByRole("menu").waitFor({ state: "detached" });
    // A dialog opened from a menu returns the focus to the button.
    await more.focus();
    await press(page, "Enter", "End", "Enter");
    await page.getByRole("dialog").waitFor();
    await press(page, "Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await more.and(focused(page)).waitFor();
    assert.deepEqual(guard.complaints, []);
  },

  "the account menu has storage, theme and sign-out": async ({ arrive }) => {
    const { page, guard } = await arrive();
    await page.emulateMedia({ colorScheme: "light" });
    await openAccount(page);
    await page.getByText("0 bytes stored").waitFor();
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await ground();
    // The browser's frame has the same colour.
    const frame = () =>
      page.evaluate(() => {
        const metas = [...document.querySelectorAll<HTMLMetaElement>("meta[name=theme-color]")];
        const probe = document.createElement("i");
        probe.style.color = metas.find(({ media }) => matchMedia(media).matches)!.content;
        return document.body.appendChild(probe) && getComputedStyle(probe).color;
      });
    assert.equal(await frame(), light);
    await page.getByRole("menuitemradio", { name: "Dark" }).click();
    const dark = await ground();
    assert.notEqual(dark, light);
    assert.equal(await frame(), dark);
    await page.getByRole("menuitemradio", { name: "Dark", checked: true }).waitFor();
    await page.reload();
    await openAccount(page);
    await page.getByRole("menuitemradio", { name: "Dark", checked: true }).waitFor();
    assert.equal(await ground(), dark);
    await page.getByRole("menuitemradio", { name: "System" }).click();
    assert.equal(await ground(), light);
    assert.equal(await frame(), light);
    // Without the scope, there is no link to the administration.
    assert.equal(await page.getByRole("link", { name: "Administration" }).count(), 0);
    assert.deepEqual(guard.complaints, []);
  },

  "the quick switcher finds a contact by a few letters and opens it": async ({ server, arrive }) => {
    const { page, guard } = await arrive(async (user) => {
      for (const [name, shown] of [
        ["ada", "Ada Lovelace"],
        ["grace", "Grace Hopper"],
        ["alan", "Alan Kay"],
      ] as const)
        await makeContact(server, user, name, shown);
    });
    await page.getByRole("option").nth(2).waitFor();
    await page.getByRole("link", { name: "Notes to self" }).focus();
    await press(page, "Control+k");
    const field = page.getByRole("combobox", { name: "Name of a contact or a group" });
    await field.and(focused(page)).waitFor();
    await page.getByRole("dialog").getByRole("option", { name: "Alan Kay" }).waitFor();
    await assertAccessible(page, "the quick switcher");
    await page.keyboard.type("lovelc");
    await page.getByRole("dialog").getByRole("option", { name: "Ada Lovelace", selected: true }).waitFor();
    await press(page, "Enter");
    await page.getByRole("heading", { name: "Ada Lovelace" }).waitFor();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await press(page, "Control+k");
    await page.getByRole("dialog").getByRole("option", { name: "Notes to self" }).waitFor();
    await press(page, "ArrowUp", "ArrowDown", "ArrowDown");
    await page.keyboard.type("nobody at all");
    await page.getByText("Nothing matches “nobody at all”.").waitFor();
    await assertAccessible(page, "the quick switcher without a result");
    await press(page, "Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    assert.deepEqual(guard.complaints, []);
  },

  "shortcuts work everywhere except in fields, where only Ctrl-K does": async ({ server, arrive }) => {
    const { page, guard } = await arrive((user) => makeContact(server, user, "ada"));
    await page.getByRole("option", { name: "ada" }).click();
    const message = page.getByRole("textbox", { name: "Message to ada" });
    await page.getByRole("button", { name: "Write the first message" }).click();
    await message.and(focused(page)).waitFor();
    await page.keyboard.type("/?");
    assert.equal(await message.inputValue(), "/?");
    assert.equal(await page.getByRole("dialog").count(), 0);
    await press(page, "Control+k");
    await page.getByRole("combobox", { name: "Name of a contact or a group" }).and(focused(page)).waitFor();
    await press(page, "Escape");
    await message.and(focused(page)).waitFor();
    assert.equal(await message.inputValue(), "/?");
    // Escape leaves the field.
    await press(page, "Escape", "/");
    const search = page.getByRole("searchbox", { name: "Search contacts, groups, messages and files" });
    await search.and(focused(page)).waitFor();
    await page.keyboard.type("?");
    assert.equal(await search.inputValue(), "?");
    assert.equal(await page.getByRole("dialog").count(), 0);
    await page.locator(".conversation").focus();
    await press(page, "?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    await assertAccessible(page, "the shortcuts");
    await press(page, "Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    assert.deepEqual(guard.complaints, []);
  },

  "the message list is one tab stop, and Tab then reaches the buttons of the message": async (world) => {
    const { server } = world;
    const bob = await world.server.user();
    const ann = await world.arrive();
    const id = await introduce(server, ann.user, bob);
    const first = await say(server, bob, id, "one");
    await say(server, ann.user, id, "two", { reply_to_id: first.id });
    await say(server, bob, id, "three", { reply_to_id: first.id });
    const { page, guard } = ann;
    await page.getByRole("option", { name: "Bob" }).click();
    await find(page, "three").waitFor();
    await act(page, "three", "React");
    await page.getByRole("dialog").getByRole("button", { name: "👍" }).click();
    await find(page, "three").getByRole("button", { name: /^👍 1/ }).waitFor();
    await page.mouse.move(0, 0);
    await page.locator(".messages").focus();
    await press(page, "Tab");
    await page.getByRole("button", { name: "Attach files" }).and(focused(page)).waitFor();
    await page.locator(".messages").focus();
    await press(page, "ArrowUp", "ArrowUp");
    await find(page, "two").and(focused(page)).waitFor();
    await press(page, "ArrowDown", "Tab");
    await find(page, "three")
      .getByRole("button", { name: /^Go to the message/ })
      .and(focused(page))
      .waitFor();
    await press(page, "ArrowUp");
    await find(page, "two").and(focused(page)).waitFor();
    assert.deepEqual(guard.complaints, []);
  },
});

test("the list of members is one tab stop", { skip: noChromium }, async (t) => {
  const { server, people } = await gather(t);
  const [{ page }] = people;
  await makeGroup(server, people, "Climbing");
  await page.getByRole("option", { name: "Climbing" }).click();
  await page.getByRole("button", { name: "Members of Climbing" }).click();
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  await button("Actions: Cat").waitFor();
  assert.equal(await page.locator(".members button[tabindex='0']").count(), 1);
  await button("Actions: Ann").focus();
  await press(page, "ArrowDown");
  await button("Actions: Bob").and(focused(page)).waitFor();
  await press(page, "Control+ArrowUp", "Alt+ArrowRight");
  await button("Actions: Bob").and(focused(page)).waitFor();
  const named = (name: RegExp) => page.getByRole("button", { name });
  await press(page, "ArrowRight");
  await named(/^Cat/).and(focused(page)).waitFor();
  await press(page, "ArrowRight");
  await button("Actions: Cat").and(focused(page)).waitFor();
  assert.equal(await button("Actions: Cat").getAttribute("tabindex"), "0");
  assert.equal(await page.locator(".members button[tabindex='0']").count(), 1);
  // A menu in the list handles arrow keys itself.
  await press(page, "Enter", "ArrowDown");
  await page.getByRole("menuitem", { name: "Remove" }).and(focused(page)).waitFor();
  await press(page, "Escape");
  await button("Actions: Cat").and(focused(page)).waitFor();
  await press(page, "Home");
  await named(/^Ann/).and(focused(page)).waitFor();
  assertQuiet(people);
});
