// Mentions: the list while typing, the ids that are sent, and the marks of the reader.
import assert from "node:assert/strict";
import { test } from "node:test";
import { noChromium } from "../support/engines/chromium.ts";
import { assertAccessible, focused } from "./browser.ts";
import { assertQuiet, gather, makeGroup } from "./in-groups.ts";
import { act, find, say } from "./talk.ts";

test("a member is chosen while typing @, by keyboard and pointer, and sent as an id", {
  skip: noChromium,
}, async (t) => {
  const { server, people } = await gather(t);
  const [ann, bob, cat] = people;
  const { conversation_id } = await makeGroup(server, people, "Climbers");
  await ann.page.getByRole("option", { name: /Climbers/ }).click();
  const field = ann.page.getByRole("textbox", { name: "Message to Climbers" });
  const list = ann.page.getByRole("listbox", { name: "Members to mention" });
  await field.pressSequentially("mail a@b, @");
  await list.waitFor();
  // Not the user themselves.
  assert.deepEqual(await list.getByRole("option").allTextContents(), ["BBob@bob", "CCat@cat"]);
  await assertAccessible(ann.page, "the members to mention");
  const active = () => field.getAttribute("aria-activedescendant");
  const toId = (name: string) => list.getByRole("option", { name }).getAttribute("id");
  assert.equal(await active(), await toId("Bob"));
  await field.press("ArrowDown");
  assert.equal(await active(), await toId("Cat"));
  await field.press("Escape");
  await list.waitFor({ state: "detached" });
  await field.and(focused(ann.page)).waitFor();
  await field.pressSequentially("c");
  assert.deepEqual(await list.getByRole("option").allTextContents(), ["CCat@cat"]);
  await field.press("Enter");
  assert.equal(await field.inputValue(), "mail a@b, @cat ");
  await ann.page.getByText("Mentions Cat").waitFor();
  // The first typed space is already there, but not another.
  await field.press("Space");
  assert.equal(await field.inputValue(), "mail a@b, @cat ");
  await field.press("Space");
  assert.equal(await field.inputValue(), "mail a@b, @cat  ");
  await field.press("Backspace");
  await field.pressSequentially("and @bo");
  await list.getByRole("option", { name: "Bob" }).click();
  await field.and(focused(ann.page)).waitFor();
  await field.pressSequentially("come?");
  await ann.page.getByText("Mentions Cat, Bob").waitFor();
  await field.press("Enter");
  for (const { page } of [bob, cat]) {
    // In the list, without opening it.
    await page.getByRole("option", { name: /Climbers.*mentions you/ }).waitFor();
    await assertAccessible(page, "a group that mentions the user");
    await page.getByRole("option", { name: /Climbers/ }).click();
    await find(page, "come?").getByText("Mentions you").waitFor();
    const marked = find(page, "come?").locator(".mention");
    assert.deepEqual(await marked.allTextContents(), ["@cat", "@bob"]);
    await assertAccessible(page, "a message with mentions");
    await page.getByRole("option", { name: /mentions you/ }).waitFor({ state: "detached" });
  }
  const answer = await fetch(`${server.url}/v1/messages?conversation_id=${conversation_id}&limit=1`, {
    headers: ann.user.headers,
  });
  const { data } = (await answer.json()) as { data: { text: string; mentions: string[] }[] };
  assert.equal(data[0]!.text, "mail a@b, @cat and @bob come?");
  assert.deepEqual(data[0]!.mentions.toSorted(), [bob.user.id, cat.user.id].sort());
  // Others do not learn of the mark, and a text without mentions has none.
  await say(server, ann.user, conversation_id, "no @bob here");
  await find(bob.page, "no @bob here").waitFor();
  assert.equal(await find(bob.page, "no @bob here").locator(".mention").count(), 0);
  assertQuiet(people);
});

test("an edit offers members, and changes whom the message mentions", { skip: noChromium }, async (t) => {
  const { server, people } = await gather(t);
  const [ann, bob, cat] = people;
  const { conversation_id } = await makeGroup(server, people, "Climbers");
  const { id } = await say(server, ann.user, conversation_id, "@bob come?", { mentions: [bob.user.id] });
  for (const { page } of people) await page.getByRole("option", { name: /Climbers/ }).click();
  await find(bob.page, "come?").getByText("Mentions you").waitFor();
  await act(ann.page, "come?", "Edit");
  const field = ann.page.getByRole("textbox", { name: "Edit the message" });
  await ann.page.getByText("Mentions Bob").waitFor();
  await field.fill("");
  await field.pressSequentially("@ca");
  const list = ann.page.getByRole("listbox", { name: "Members to mention" });
  assert.deepEqual(await list.getByRole("option").allTextContents(), ["CCat@cat"]);
  await assertAccessible(ann.page, "the members to mention in an edit");
  await field.press("Enter");
  await ann.page.getByText("Mentions Cat").waitFor();
  await field.pressSequentially("come?");
  await field.press("Enter");
  await find(cat.page, "@cat come?").getByText("Mentions you").waitFor();
  await find(bob.page, "@cat come?").waitFor();
  assert.equal(await find(bob.page, "come?").getByText("Mentions you").count(), 0);
  const answer = await fetch(`${server.url}/v1/messages/${id}`, { headers: ann.user.headers });
  assert.deepEqual(((await answer.json()) as { mentions: string[] }).mentions, [cat.user.id]);
  // A mention stays while the name does.
  await act(ann.page, "come?", "Edit");
  await field.fill("@cat, will you come?");
  await field.press("Enter");
  await find(cat.page, "will you come?").getByText("Mentions you").waitFor();
  // So does one whose name the text never had.
  await say(server, ann.user, conversation_id, "Bob, look", { mentions: [bob.user.id] });
  await act(ann.page, "Bob, look", "Edit");
  await field.fill("Bob, look here");
  await field.press("Enter");
  await find(bob.page, "look here").getByText("Mentions you").waitFor();
  assertQuiet(people);
});

test("a group is marked by a mention whose message the page has not loaded", {
  skip: noChromium,
}, async (t) => {
  const { server, people } = await gather(t);
  const [ann, bob] = people;
  const { conversation_id } = await makeGroup(server, people, "Climbers");
  await say(server, ann.user, conversation_id, "@bob come?", { mentions: [bob.user.id] });
  for (let i = 0; i < 30; i++) await say(server, ann.user, conversation_id, `later ${i}`);
  await bob.page.evaluate(() =>
    indexedDB.databases().then((all) => all.map(({ name }) => indexedDB.deleteDatabase(name!))),
  );
  await bob.page.reload();
  await bob.page.getByRole("option", { name: /Climbers.*mentions you.*31 unread/ }).waitFor();
  await bob.page.getByRole("option", { name: /Climbers/ }).click();
  await bob.page.getByRole("option", { name: /mentions you/ }).waitFor({ state: "detached" });
  assertQuiet(people);
});
