// Messages for one user: deleted only for oneself, and mentions.
import assert from "node:assert/strict";
import { test } from "node:test";
import { noChromium } from "../support/engines/chromium.ts";
import { assertAccessible } from "./browser.ts";
import { assertQuiet, gather, line, makeGroup } from "./in-groups.ts";
import { testScenes } from "./scenes.ts";
import { act, find, listTexts, meet, say, shownTexts, write } from "./talk.ts";

testScenes("messages deleted for oneself", {
  "a message of either user can be deleted for oneself": async (world) => {
    const { server } = world;
    const { ann, bob, id } = await meet(world);
    for (const text of ["one", "two", "three"]) await say(server, bob.user, id, text);
    await find(ann.page, "three").waitFor();
    await act(ann.page, "one", "Delete");
    const dialog = ann.page.getByRole("dialog");
    await dialog.getByText("The others keep it.").waitFor();
    // Only the sender can delete it for everyone.
    assert.equal(await dialog.getByRole("button", { name: "Delete for everyone" }).count(), 0);
    await dialog.getByRole("button", { name: "Delete for me" }).click();
    await find(ann.page, "one").waitFor({ state: "detached" });
    await ann.page.getByText("The message was deleted for you.").waitFor();
    await act(bob.page, "two", "Delete");
    await bob.page.getByRole("dialog").getByRole("button", { name: "Delete for me" }).click();
    await find(bob.page, "two").waitFor({ state: "detached" });
    await act(bob.page, "three", "Delete");
    await bob.page.getByRole("dialog").getByRole("button", { name: "Delete for everyone" }).click();
    await find(ann.page, "three").waitFor({ state: "detached" });
    assert.deepEqual(await shownTexts(ann.page), ["two"]);
    assert.deepEqual(await shownTexts(bob.page), ["one"]);
    assert.deepEqual(await listTexts(server, ann.user, id), ["two"]);
    assert.deepEqual(await listTexts(server, bob.user, id), ["one"]);
    // Nobody else has a copy of a note.
    await ann.page.getByRole("link", { name: "Notes to self" }).click();
    await write(ann.page, "a note");
    await find(ann.page, "a note").and(ann.page.locator(":not(.outgoing)")).waitFor();
    await act(ann.page, "a note", "Delete");
    assert.equal(await dialog.getByRole("button", { name: /^Delete/ }).count(), 1);
    await dialog.getByRole("button", { name: "Delete", exact: true }).click();
    await find(ann.page, "a note").waitFor({ state: "detached" });
    assert.deepEqual([...ann.guard.complaints, ...bob.guard.complaints], []);
  },

  "the dialog that deletes a message is accessible and fits a phone": async (world) => {
    const { server } = world;
    const { ann, id } = await meet(world);
    await say(server, ann.user, id, "mine");
    await ann.page.setViewportSize({ width: 360, height: 740 });
    await act(ann.page, "mine", "Delete");
    await assertAccessible(ann.page, "deleting for whom");
    const wide = await ann.page.getByRole("dialog").evaluate((box) => box.scrollWidth - box.clientWidth);
    assert.equal(wide, 0);
    assert.deepEqual(ann.guard.complaints, []);
  },
});

test("a member is mentioned, and deletes a system message for themselves", {
  skip: noChromium,
}, async (t) => {
  const { server, people } = await gather(t);
  const [ann, bob, cat] = people;
  const { conversation_id } = await makeGroup(server, people, "Climbers");
  for (const { page } of people) await page.getByRole("option", { name: /Climbers/ }).click();
  await say(server, ann.user, conversation_id, "Who comes?");
  await say(server, ann.user, conversation_id, "Bob, do you?", { mentions: [bob.user.id] });
  const label = (page: typeof bob.page) => page.locator(".message").getByText("Mentions you");
  await find(bob.page, "Bob, do you?").getByText("Mentions you").waitFor();
  assert.equal(await label(bob.page).count(), 1);
  await assertAccessible(bob.page, "a message that mentions");
  for (const { page } of [ann, cat]) {
    await find(page, "Bob, do you?").waitFor();
    assert.equal(await label(page).count(), 0);
  }
  await line(bob.page, "Cat joined").hover();
  await line(bob.page, "Cat joined").getByRole("button", { name: "Delete" }).click();
  await bob.page.getByRole("dialog").getByRole("button", { name: "Delete for me" }).click();
  await line(bob.page, "Cat joined").waitFor({ state: "detached" });
  assert.equal(await line(ann.page, "Cat joined").count(), 1);
  assertQuiet(people);
});
