// Typing indicators: they end when the user sends, stops or leaves.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import type { TestApp, TestUser } from "../support/app.ts";
import { noChromium } from "../support/engines/chromium.ts";
import { add, read, send } from "../support/people.ts";
import { assertAccessible, assertNoSidewaysScroll, signIn } from "./browser.ts";
import { assertQuiet, gather, makeGroup } from "./in-groups.ts";
import { testScenes } from "./scenes.ts";
import { act, find, meet, toUsername, write } from "./talk.ts";

const line = (page: Page) => page.locator(".typing-line").and(page.getByRole("status"));
const shown = (page: Page, text: string) => line(page).getByText(text, { exact: true });
const row = (page: Page, name: string) => page.getByRole("option", { name });
const field = (page: Page) => page.getByRole("textbox", { name: /^Message to/ });

async function type(server: TestApp, { headers }: TestUser, id: string): Promise<void> {
  const response = await fetch(`${server.url}/v1/conversations/${id}/typing`, { method: "POST", headers });
  assert.equal(response.status, 204);
}

/** Announces typing repeatedly, until the returned function is called. */
function keepTyping(t: TestContext, server: TestApp, user: TestUser, id: string): () => void {
  const stop = () => clearInterval(timer);
  // The server may stop first.
  const timer = setInterval(() => type(server, user, id).catch(stop), 1000);
  t.after(stop);
  return stop;
}

testScenes("typing indicators", {
  "the conversation and the list show who is typing until the message arrives": async (world) => {
    const { ann, bob, id } = await meet(world);
    await write(ann.page, "First");
    await find(bob.page, "First").waitFor();
    await field(ann.page).pressSequentially("Wait");
    const stop = keepTyping(world.t, world.server, ann.user, id);
    await shown(bob.page, "Ann is typing…").waitFor();
    await row(bob.page, "Ann").getByText("Ann is typing…").waitFor();
    assert.equal(await row(bob.page, "Ann").getByText("First").count(), 0);
    assert.equal(await line(ann.page).textContent(), "");
    stop();
    await field(ann.page).press("Enter");
    await find(bob.page, "Wait").waitFor();
    assert.equal(await line(bob.page).textContent(), "");
    await row(bob.page, "Ann").getByText("Wait").waitFor();
    assert.deepEqual([...ann.guard.complaints, ...bob.guard.complaints], []);
  },

  "the typing indicator disappears after a pause": async (world) => {
    const { ann, bob } = await meet(world);
    await field(bob.page).fill("Well");
    await shown(ann.page, "Bob is typing…").waitFor();
    await shown(ann.page, "Bob is typing…").waitFor({ state: "detached" });
    assert.equal(await field(bob.page).inputValue(), "Well");
    assert.deepEqual([...ann.guard.complaints, ...bob.guard.complaints], []);
  },

  "typing is announced rarely, and not for an emptied field, an edit or a note": async (world) => {
    const { ann } = await meet(world);
    const { page, guard } = ann;
    await write(page, "Typo");
    await find(page, "Typo").and(page.locator(":not(.outgoing)")).waitFor();
    const said: string[] = [];
    world.proxy.fate = (line) => {
      if (line.endsWith("/typing")) said.push(line);
      return "pass";
    };
    await page.clock.install();
    await signIn(page, world.proxy.url, ann.user.token);
    await row(page, "Bob").click();
    await find(page, "Typo").waitFor();
    // Short enough that the event stream does not count as dead.
    await page.clock.pauseAt(Date.now() + 5000);
    const writes = async (text: string, count: number) => {
      const asked = page.waitForResponse((response) => response.url().endsWith("/typing"));
      await field(page).fill(text);
      await asked;
      assert.equal(said.length, count);
    };
    await writes("T", 1);
    for (const text of ["Th", "Thi", "This"]) await field(page).fill(text);
    await page.clock.runFor(2990);
    await field(page).fill("This i");
    await page.clock.runFor(20);
    await writes("This is", 2);
    await page.clock.runFor(5000);
    await field(page).fill("");
    await field(page).fill(" ");
    await field(page).fill("");
    await page.clock.resume();
    await act(page, "Typo", "Edit");
    await page.getByRole("textbox", { name: "Edit the message" }).fill("No typo");
    await page.keyboard.press("Enter");
    await find(page, "No typo").waitFor();
    await page.getByRole("link", { name: "Notes to self" }).click();
    await write(page, "A note");
    await find(page, "A note").waitFor();
    assert.equal(said.length, 2);
    assert.deepEqual(guard.complaints, []);
  },

  "the typing line is accessible, covers no message and fits, on a desktop and on a phone": async (world) => {
    const { server } = world;
    const { ann, bob, id } = await meet(world);
    const { page, guard } = ann;
    await write(page, "Last words");
    const stop = keepTyping(world.t, server, bob.user, id);
    for (const [what, viewport] of [
      ["desk", { width: 1280, height: 800 }],
      ["phone", { width: 390, height: 760 }],
    ] as const) {
      await page.setViewportSize(viewport);
      await shown(page, "Bob is typing…").waitFor();
      await assertNoSidewaysScroll(page, what);
      await assertAccessible(page, what);
      const above = (await find(page, "Last words").boundingBox())!;
      const below = (await shown(page, "Bob is typing…").boundingBox())!;
      assert.ok(above.y + above.height <= below.y, what);
    }
    stop();
    assert.deepEqual(guard.complaints, []);
  },
});

test("a group names or counts those who are typing", { skip: noChromium }, async (t) => {
  const { server, people } = await gather(t);
  const [ann, bob, cat] = people;
  const { id, conversation_id } = await makeGroup(server, people, "Climbers");
  const dan = await server.user();
  const name = await toUsername(server, dan);
  await add(server, ann.user, name);
  await add(server, dan, "ann");
  await read(send(server, ann.user, "POST", `/v1/groups/${id}/members`, { username: name }), 201);
  await read(send(server, dan, "POST", `/v1/groups/${id}/join`), 200);
  const { page } = ann;
  for (const person of [ann, bob]) await row(person.page, "Climbers").click();
  const stop = keepTyping(t, server, bob.user, conversation_id);
  await shown(page, "Bob is typing…").waitFor();
  await row(page, "Climbers").getByText("Bob is typing…").waitFor();
  keepTyping(t, server, cat.user, conversation_id);
  await shown(page, "Bob and Cat are typing…").waitFor();
  keepTyping(t, server, dan, conversation_id);
  await shown(page, "3 people are typing…").waitFor();
  stop();
  // A message ends the typing of its sender.
  await write(bob.page, "It is me");
  await row(page, "Climbers").getByText(`Cat and ${name} are typing…`).waitFor();
  assertQuiet(people);
});
