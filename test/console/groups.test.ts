import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { deleteUser } from "../../src/core/people/users.ts";
import { startApp, upload } from "../support/app.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import { read, send } from "../support/people.ts";
import {
  assertAccessible,
  assertNoSidewaysScroll,
  choose,
  countClicks,
  openFiles,
  openPage,
  signIn,
} from "./browser.ts";
import {
  assertQuiet,
  chooseFor,
  type Group,
  gather,
  invitation,
  line,
  makeGroup,
  press,
} from "./in-groups.ts";
import { holdAnswers } from "./proxy.ts";
import { testScenes } from "./scenes.ts";
import { find, introduce, say, toUsername } from "./talk.ts";

test("admins invite, withdraw, promote, rename and remove, and everybody sees it at once", {
  skip: noChromium,
}, async (t) => {
  const { server, people } = await gather(t);
  const [ann, bob, cat] = people;
  const group = await makeGroup(server, [ann, bob], "Climbing");
  for (const { page } of [ann, bob]) await page.getByRole("option", { name: "Climbing" }).click();
  await invitation(cat.page).waitFor();
  await press(bob.page, "Members of Climbing");
  const members = bob.page.getByRole("list", { name: "Members" });
  await members.getByText("Bob (you)").waitFor();
  // A member sees neither invitations nor buttons.
  assert.equal(await members.getByRole("listitem").count(), 2);
  assert.equal(await members.getByRole("button", { name: /^(Actions|Withdraw)/ }).count(), 0);
  assert.equal(await bob.page.getByRole("button", { name: "Edit Climbing" }).count(), 0);

  await press(ann.page, "Members of Climbing");
  await press(ann.page, "Withdraw: Cat");
  await invitation(cat.page).waitFor({ state: "detached" });
  await ann.page.getByRole("combobox", { name: "Invite" }).fill("cat");
  await press(ann.page, "Invite");
  await press(cat.page, "Join Climbing");
  await line(cat.page, "You joined").waitFor();
  await chooseFor(ann.page, "Bob", "Make admin");
  await chooseFor(ann.page, "Bob", "Make member");
  await chooseFor(ann.page, "Bob", "Make admin");
  for (const text of ["Bob is an admin now", "Bob is no longer an admin", "Cat joined"])
    await line(ann.page, text).first().waitFor();
  await members.getByText("Cat", { exact: true }).waitFor();
  await chooseFor(bob.page, "Ann", "Make member");
  await line(cat.page, "Ann is no longer an admin").waitFor();
  await bob.page.keyboard.press("Escape");
  await ann.page.getByRole("combobox", { name: "Invite" }).waitFor({ state: "detached" });
  await ann.page.keyboard.press("Escape");

  await press(bob.page, "Edit Climbing");
  await bob.page.getByLabel("Name", { exact: true }).fill("Bouldering");
  await bob.page.keyboard.press("Enter");
  for (const { page } of people) {
    await page.getByRole("heading", { name: "Bouldering" }).waitFor();
    await page.getByRole("option", { name: "Bouldering" }).waitFor();
  }
  await line(ann.page, "Bob renamed the group to Bouldering").waitFor();
  await cat.page.getByLabel("Search contacts, groups, messages and files").fill("bould");
  await cat.page.getByRole("option", { name: "Bouldering" }).getByText("3 members").waitFor();

  await openFiles(cat.page);
  const { conversation_id } = group;
  assert.equal(
    (await upload(server.url, ann.user, new File(["map"], "map.txt"), { conversation_id })).status,
    201,
  );
  await cat.page.getByRole("button", { name: "Open map.txt" }).waitFor();

  await press(bob.page, "Members of Bouldering");
  await chooseFor(bob.page, "Cat", "Remove");
  await press(bob.page, "Remove");
  await cat.page.getByText("You are not a member of Bouldering any more.").waitFor();
  await cat.page.getByRole("heading", { name: "Choose a conversation" }).waitFor();
  await line(ann.page, "Bob removed Cat").waitFor();
  await members.getByText("Cat", { exact: true }).waitFor({ state: "detached" });
  await members.and(bob.page.locator(":focus")).waitFor();
  assertQuiet(people);
});

test("editing a group keeps the concurrent changes of another admin", {
  skip: noChromium,
}, async (t) => {
  const { server, people } = await gather(t);
  const [ann, bob] = people;
  const { id } = await makeGroup(server, people, "Climbing");
  for (const { page } of [ann, bob]) await page.getByRole("option", { name: "Climbing" }).click();
  const field = (label: string) => ann.page.getByRole("dialog").getByLabel(label);
  const current = () => read<Record<string, unknown>>(send(server, ann.user, "GET", `/v1/groups/${id}`), 200);
  // An unchanged value is not sent, also with spaces around it.
  await read(send(server, ann.user, "PUT", `/v1/groups/${id}`, { description: "Mondays\n" }), 200);
  await ann.page.getByText("3 members · Mondays").waitFor();
  await press(ann.page, "Edit Climbing");
  await read(send(server, ann.user, "PUT", `/v1/groups/${id}`, { description: "Tuesdays" }), 200);
  await field("Picture URL").fill("https://example.com/b.png");
  await press(ann.page, "Save");
  await ann.page.getByText("Climbing was changed.").waitFor();
  assert.equal((await current()).description, "Tuesdays");
  await press(ann.page, "Edit Climbing");
  await read(send(server, ann.user, "PUT", `/v1/groups/${id}`, { name: "Climbing club" }), 200);
  await ann.page.getByRole("heading", { name: "Climbing club" }).waitFor({ state: "attached" });
  await field("Description").fill("Sundays\nat nine");
  await field("Picture URL").fill("https://example.com/a.png");
  await press(ann.page, "Save");
  await ann.page.getByText("Climbing club was changed.").waitFor();
  await bob.page.getByText("3 members · Sundays at nine").waitFor();
  const { name, description, avatar_url } = await current();
  assert.deepEqual(
    [name, description, avatar_url],
    ["Climbing club", "Sundays\nat nine", "https://example.com/a.png"],
  );

  await press(ann.page, "Edit Climbing club");
  await field("Picture URL").fill("ftp://example.com/a.png");
  await press(ann.page, "Save");
  await ann.page.getByRole("alert").filter({ hasText: "The picture URL must be" }).waitFor();
  await field("Picture URL").fill("");
  await field("Description").fill("");
  await press(ann.page, "Save");
  await bob.page.getByText("3 members", { exact: true }).waitFor();
  const cleared = await current();
  assert.deepEqual([cleared.description, cleared.avatar_url], [null, null]);
  assertQuiet(people);
});

test("the list of members reloads when the user returns to the window", {
  skip: noChromium,
}, async (t) => {
  const { server, people } = await gather(t);
  const [ann] = people;
  const { id } = await makeGroup(server, people, "Climbing");
  await ann.page.getByRole("option", { name: "Climbing" }).click();
  await press(ann.page, "Members of Climbing");
  const members = ann.page.getByRole("list", { name: "Members" });
  await members.getByText("Cat", { exact: true }).waitFor();
  const path = `/v1/groups/${id}/members`;
  const { id: invited } = await read<{ id: string }>(
    send(server, ann.user, "POST", path, { username: "dan" }),
    201,
  );
  const comeBack = () => ann.page.evaluate(() => void dispatchEvent(new Event("focus")));
  await comeBack();
  await members.getByText("dan", { exact: true }).waitFor();
  assert.equal((await send(server, ann.user, "DELETE", `${path}/${invited}`)).status, 204);
  await comeBack();
  await members.getByText("dan", { exact: true }).waitFor({ state: "detached" });
  assertQuiet(people);
});

test("the details of a group say who invited the user, by the name of that person", {
  skip: noChromium,
}, async (t) => {
  const { server, people } = await gather(t);
  const [ann, bob] = people;
  await makeGroup(server, people, "Climbing");
  for (const { page } of [ann, bob]) {
    await page.setViewportSize({ width: 1600, height: 900 });
    await page.getByRole("option", { name: "Climbing" }).click();
  }
  const details = ({ page }: typeof ann) => page.getByRole("complementary", { name: "About Climbing" });
  await details(bob).getByText("Ann invited you", { exact: true }).waitFor();
  await read(send(server, ann.user, "PUT", "/v1/me", { display_name: "Ada" }), 200);
  await details(bob).getByText("Ada invited you", { exact: true }).waitFor();
  // A narrow window shows it with the members.
  await bob.page.setViewportSize({ width: 360, height: 740 });
  await press(bob.page, "Members of Climbing");
  await bob.page.getByRole("dialog").getByText("Ada invited you", { exact: true }).waitFor();
  await details(ann).getByText("3 members").waitFor();
  assert.equal(await details(ann).getByText("invited you").count(), 0);
  assertQuiet(people);
});

for (const width of [390, 1280, 1600])
  test(`two clicks say who invited the user, in a window of ${width} px`, { skip: noChromium }, async (t) => {
    const { server, people } = await gather(t);
    const [, bob] = people;
    await makeGroup(server, people, "Climbing");
    const { page } = bob;
    await page.setViewportSize({ width, height: 900 });
    const row = page.getByRole("option", { name: "Climbing" });
    await row.waitFor();
    const count = await countClicks(page);
    await row.click();
    const inviter = page.getByText("Ann invited you", { exact: true });
    if (width < 1600) await press(page, "Members of Climbing");
    await inviter.waitFor();
    assert.equal(await count(), width < 1600 ? 2 : 1);
    assertQuiet(people);
  });

test("system messages do not count as unread, messages of members do", { skip: noChromium }, async (t) => {
  const { server, people } = await gather(t);
  const [ann, bob] = people;
  const { id, conversation_id } = await makeGroup(server, people, "Climbing");
  const row = ann.page.getByRole("option", { name: "Climbing" });
  await row.waitFor();
  await read(send(server, ann.user, "PUT", `/v1/groups/${id}`, { name: "Climbing club" }), 200);
  await row.filter({ hasText: "Climbing club" }).waitFor();
  assert.equal(await row.getByText("unread").count(), 0);
  await say(server, bob.user, conversation_id, "hello");
  await row.filter({ hasText: /Bob: hello.*1 unread/ }).waitFor();
  await row.click();
  await find(ann.page, "hello").waitFor();
  // The line "New" is above the written messages and ignores system messages.
  const texts = await ann.page.locator(".message-list > li").allTextContents();
  const at = texts.indexOf("New");
  assert.match(texts[at + 1]!, /hello/);
  await row.filter({ hasText: "unread" }).waitFor({ state: "detached" });
  await say(server, bob.user, conversation_id, "again");
  await ann.page
    .getByRole("status")
    .filter({ hasText: /^Bob: again$/ })
    .waitFor({ state: "attached" });
  // A link opens a member's group, and reports one that the user cannot see.
  await ann.page.goto(`${server.url}/#grp_00000000000000000000000000`);
  await ann.page.getByText("This group does not exist, or you are not a member.").waitFor();
  await ann.page.goto(`${server.url}/#${id}`);
  await find(ann.page, "again").waitFor();
  await ann.page.waitForFunction(() => document.title === "Climbing club · Parley");
  // When the last admin leaves, two system messages appear and nobody has written.
  const path = `/v1/groups/${id}/members`;
  const { data } = await read<{ data: { id: string; username: string }[] }>(
    send(server, ann.user, "GET", path),
    200,
  );
  const role = (username: string, by: typeof ann, role: string) =>
    send(server, by.user, "PUT", `${path}/${data.find((each) => each.username === username)!.id}`, { role });
  await read(role("bob", ann, "admin"), 200);
  await read(role("ann", bob, "member"), 200);
  assert.equal((await send(server, bob.user, "DELETE", `/v1/groups/${id}`)).status, 204);
  await ann.page
    .getByRole("status")
    .filter({ hasText: /Bob left\. You are an admin now$/ })
    .waitFor({ state: "attached" });
  assertQuiet(people);
});

test("system messages by and about erased users stay readable", { skip: noChromium }, async (t) => {
  const { server, people } = await gather(t);
  const [ann, bob, cat] = people;
  const { id, conversation_id } = await makeGroup(server, people, "Climbing");
  await say(server, bob.user, conversation_id, "from Bob");
  const members = `/v1/groups/${id}/members`;
  const { data } = await read<{ data: { id: string; username: string }[] }>(
    send(server, ann.user, "GET", members),
    200,
  );
  const seat = data.find(({ username }) => username === "cat")!;
  assert.equal((await send(server, ann.user, "DELETE", `${members}/${seat.id}`)).status, 204);
  for (const { user, page } of [bob, cat]) {
    await page.close();
    await deleteUser(server.app.core, null, user.id);
  }
  await ann.page.getByRole("option", { name: "Climbing" }).click();
  await find(ann.page, "from Bob").getByText("Deleted user").waitFor();
  for (const text of ["A deleted user joined", "You removed a deleted user", "A deleted user left"])
    await line(ann.page, text).first().waitFor();
  assertQuiet([ann]);
});

test("without the scopes of groups, the rest of the console works", { skip: noChromium }, async (t) => {
  const server = await startApp(t);
  const user = await server.user({ scopes: ["contacts:read", "messages:read", "events:read"] });
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  const asked = page.waitForResponse((response) => response.url().includes("/v1/groups"));
  await signIn(page, server.url, user.token);
  assert.equal((await asked).status(), 403);
  await page.getByText("No contacts yet").waitFor();
  assert.equal(await page.getByRole("button", { name: "Try again" }).count(), 0);
  assert.deepEqual(guard.complaints, []);
});

testScenes("late answers in groups", {
  "a late answer does not bring back a group that the user was removed from": async (world) => {
    const { server, proxy } = world;
    const ann = await server.user();
    const bob = await world.arrive(async (user) => {
      await introduce(server, ann, user);
      const fields = { name: "Climbing", members: [await toUsername(server, user)] };
      const { id } = await read<Group>(send(server, ann, "POST", "/v1/groups", fields), 201);
      await read(send(server, user, "POST", `/v1/groups/${id}/join`), 200);
    });
    const { page, guard, user } = bob;
    const row = page.getByRole("option", { name: "Climbing" });
    await row.waitFor();
    const groups = await read<{ data: Group[] }>(send(server, user, "GET", "/v1/groups"), 200);
    const { id, conversation_id } = groups.data[0]!;
    const late = holdAnswers(proxy, new RegExp(`^GET /v1/conversations/${conversation_id}$`));
    // Only the server knows what is unread once an unread message is deleted.
    const hello = await say(server, ann, conversation_id, "hello");
    await row.filter({ hasText: "hello" }).waitFor();
    assert.equal((await send(server, ann, "DELETE", `/v1/messages/${hello.id}`)).status, 204);
    await late.arrived;
    assert.equal((await send(server, user, "DELETE", `/v1/groups/${id}`)).status, 204);
    await row.waitFor({ state: "detached" });
    const answered = page.waitForResponse((response) => response.url().endsWith(conversation_id));
    late.release();
    assert.equal((await answered).status(), 200);
    await page.waitForTimeout(300);
    assert.equal(await row.count(), 0);
    assert.deepEqual(guard.complaints, []);
  },
});

for (const [size, viewport] of [
  ["desk", { width: 1280, height: 800 }],
  ["phone", { width: 360, height: 740 }],
] as const) {
  test(`the screens of groups are accessible and fit: ${size}`, { skip: noChromium }, async (t) => {
    const { server, people } = await gather(t);
    const [ann, bob, cat] = people;
    const long = "averylongnamewithoutanyplacetobreakit".repeat(3);
    const fields = { name: long, members: ["cat"], description: `${long} ${long}` };
    await read(send(server, bob.user, "POST", "/v1/groups", fields), 201);
    const { conversation_id } = await makeGroup(server, [ann, bob], "Climbing");
    for (const [at, { user }] of [ann, bob, ann, bob].entries())
      await say(server, user, conversation_id, `message ${at}`);
    for (const { page } of people) await page.setViewportSize(viewport);
    const look = async (page: Page, what: string) => {
      await assertNoSidewaysScroll(page, what);
      await assertAccessible(page, what);
    };
    await invitation(cat.page).getByRole("listitem").nth(1).waitFor();
    await look(cat.page, "invitations");
    await cat.page.getByRole("link", { name: long }).click();
    await cat.page.getByRole("heading", { name: "Bob (@bob) invited you" }).waitFor();
    await look(cat.page, "an invitation");
    const { page } = ann;
    await press(page, "Create a group");
    await page.getByRole("combobox", { name: "Invite" }).fill(long);
    await page.keyboard.press("Enter");
    await look(page, "creating a group");
    await page.keyboard.press("Escape");
    await page.getByRole("option", { name: "Climbing" }).click();
    await find(page, "message 3").waitFor();
    await look(page, "a conversation");
    await find(page, "message 3").hover();
    await look(page, "a message under the mouse");
    await press(page, "Edit Climbing");
    await look(page, "editing");
    await page.keyboard.press("Escape");
    await press(page, "Members of Climbing");
    await page.getByText("Invited").waitFor();
    await look(page, "members");
    await chooseFor(page, "Bob", "Remove");
    await look(page, "removing");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await choose(page, "Leave group");
    await look(page, "leaving");
    assertQuiet(people);
  });
}
