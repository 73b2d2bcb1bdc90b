// Shared by the tests of groups: three people who are contacts, and their actions.
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { Page } from "playwright-core";
import { createToken } from "../../src/core/people/tokens.ts";
import { createUser } from "../../src/core/people/users.ts";
import { startApp, type TestApp, type TestUser } from "../support/app.ts";
import { openBrowser } from "../support/engines/chromium.ts";
import { add, read, send } from "../support/people.ts";
import { openPage, signIn } from "./browser.ts";
import type { Person } from "./talk.ts";

export interface Group {
  id: string;
  conversation_id: string;
}

const NAMES = ["Ann", "Bob", "Cat"];

async function addUser(server: TestApp, display_name: string): Promise<TestUser> {
  const { id } = await createUser(server.app.core, null, {
    username: display_name.toLowerCase(),
    display_name,
  });
  const { token } = await createToken(server.app.core, null, id, {});
  return { id, token, headers: { authorization: `Bearer ${token}` } };
}

/** Signs in Ann, Bob and Cat, who are all contacts of each other. */
export async function gather(t: TestContext): Promise<{ server: TestApp; people: [Person, Person, Person] }> {
  const server = await startApp(t);
  const users = [];
  for (const name of NAMES) users.push(await addUser(server, name));
  for (const user of users)
    for (const [at, other] of users.entries())
      if (other !== user) await add(server, user, NAMES[at]!.toLowerCase());
  const browser = await openBrowser(t);
  const arrive = async (user: TestUser): Promise<Person> => {
    const opened = await openPage(browser, server.url);
    await signIn(opened.page, server.url, user.token);
    return { user, ...opened };
  };
  const [ann, bob, cat] = [await arrive(users[0]!), await arrive(users[1]!), await arrive(users[2]!)];
  return { server, people: [ann, bob, cat] };
}

export const line = (page: Page, text: string) => page.locator(".message.system").filter({ hasText: text });
export const invitation = (page: Page) => page.getByRole("list", { name: "Invitations" });
export const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();

/** Chooses an action in the menu of a member. */
export async function chooseFor(page: Page, name: string, item: string): Promise<void> {
  await press(page, `Actions: ${name}`);
  await page.getByRole("menuitem", { name: item, exact: true }).click();
}

export function assertQuiet(people: readonly Person[]): void {
  assert.deepEqual(
    people.flatMap(({ guard }) => guard.complaints),
    [],
  );
}

/** Creates a group of Ann and the others through the API. */
export async function makeGroup(
  server: TestApp,
  [ann, ...others]: readonly Person[],
  name: string,
): Promise<Group> {
  const fields = { name, members: NAMES.slice(1).map((each) => each.toLowerCase()) };
  const group = await read<Group>(send(server, ann!.user, "POST", "/v1/groups", fields), 201);
  for (const { user } of others) await read(send(server, user, "POST", `/v1/groups/${group.id}/join`), 200);
  return group;
}
