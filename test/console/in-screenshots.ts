// Shared by the tests that take the pictures of docs/pictures: Mary, her contacts, and the tour of screens.
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContextOptions, Locator, Page } from "playwright-core";
import { createToken } from "../../src/core/people/tokens.ts";
import { createUser } from "../../src/core/people/users.ts";
import type { TestApp, TestUser } from "../support/app.ts";
import { read, send } from "../support/people.ts";
import { assertAccessible, assertNoSidewaysScroll, makeContact, openPage } from "./browser.ts";
import { paint } from "./pictures.ts";
import { find, say } from "./talk.ts";

const FOLDER = fileURLToPath(new URL("../../docs/pictures/", import.meta.url));
/** Opt-in, because it writes into docs/. */
export const isAsked = Boolean(process.env.PARLEY_PICTURES);
export const PEOPLE = [
  ["radia", "Radia Perlman"],
  ["edsger", "Edsger Dijkstra"],
  ["katherine", "Katherine Johnson"],
  ["alan", "Alan Kay"],
  ["margaret", "Margaret Hamilton"],
  ["barbara", "Barbara Liskov"],
  ["ada", "Ada Lovelace"],
  ["grace", "Grace Hopper"],
] as const;

/** Draws hills in front of each other below a sky, in shades between two colours. */
function hills(sky: [number, number, number], ground: [number, number, number], phase: number) {
  return paint(1200, 750, (x, y) => {
    const ridges = [0.5, 0.62, 0.76, 0.9].map(
      (height, index) => height - 0.07 * Math.sin((x * (3 + index) + phase + index * 1.7) * 2.1),
    );
    const depth = ridges.filter((ridge) => y > ridge).length;
    const sun = Math.hypot((x - 0.72) * 1.6, y - 0.26) < 0.09 && depth === 0 ? 26 : 0;
    const part = depth === 0 ? y * 0.25 : 0.25 + depth * 0.18;
    return sky.map((value, at) => value + (ground[at]! - value) * part + sun) as [number, number, number];
  });
}

const BOARD = hills([250, 214, 178], [38, 60, 74], 0.4);
const HARBOUR = hills([178, 216, 232], [22, 66, 78], 2.2);
const DUNES = hills([246, 232, 200], [142, 86, 52], 4.1);

const REPORT = new File([Buffer.alloc(48_300, "%PDF-1.7\n")], "Quarterly report.pdf");
export const PICTURES = [
  new File([HARBOUR], "harbour at six.png"),
  new File([BOARD], "hills.png"),
  new File([DUNES], "dunes.png"),
];

/** Creates Mary, her contacts and their messages. */
export async function furnish(server: TestApp): Promise<[mary: TestUser, ada: TestUser, grace: TestUser]> {
  const mary = await addPerson(server, "mary", "Mary Jackson");
  const conversations = new Map<string, string>();
  for (const [username, name] of PEOPLE)
    conversations.set(username, (await makeContact(server, mary, username, name)).conversation_id);
  const talk = async (user: TestUser, username: string, text: string, files: File[] = []) => {
    const form = new FormData();
    form.append("conversation_id", conversations.get(username)!);
    form.append("text", text);
    for (const file of files) form.append("file", file);
    const options = { method: "POST", headers: user.headers, body: form };
    assert.equal((await fetch(`${server.url}/v1/messages`, options)).status, 201);
  };
  const [ada, grace] = [await addPerson(server, "ada", "Ada"), await addPerson(server, "grace", "Grace")];
  for (const user of [ada, grace]) await makeContact(server, user, "mary", "Mary");
  await talk(mary, "barbara", "See you on Thursday then");
  await talk(ada, "ada", "The engine weaves!");
  await talk(ada, "ada", "Can you look at note G before Friday?");
  await talk(grace, "grace", "Morning, Mary! These are from the walk. Which one is for the cover?", PICTURES);
  await talk(mary, "grace", "The harbour. The light is just right.");
  await talk(mary, "grace", "And here is the report, with your numbers in it.", [REPORT]);
  await talk(grace, "grace", "Wonderful, I'll read it tonight.");
  return [mary, ada, grace];
}

/** Creates a group of Mary, Ada and Grace with messages. */
export async function makeClub(server: TestApp, [mary, ada, grace]: readonly TestUser[]): Promise<void> {
  const fields = { name: "Book club", members: ["ada", "grace"] };
  const { id, conversation_id } = await read<{ id: string; conversation_id: string }>(
    send(server, mary!, "POST", "/v1/groups", fields),
    201,
  );
  const about = { description: "Every second Tuesday, at Ada's" };
  await read(send(server, mary!, "PUT", `/v1/groups/${id}`, about), 200);
  for (const user of [ada!, grace!]) await read(send(server, user, "POST", `/v1/groups/${id}/join`), 200);
  await say(server, ada!, conversation_id, "Shall we read the sketch of the engine next?");
  await say(server, grace!, conversation_id, "Gladly. I have two copies.");
  await say(server, grace!, conversation_id, "Who needs one?");
  await say(server, mary!, conversation_id, "Me, please. And bring the notes, they are the best part of it.");
}

export async function addPerson(server: TestApp, username: string, display_name: string): Promise<TestUser> {
  const { id } = await createUser(server.app.core, null, { username, display_name });
  const { token } = await createToken(server.app.core, null, id, {});
  return { id, token, headers: { authorization: `Bearer ${token}` } };
}

/** Takes the picture if PARLEY_PICTURES is set. */
export async function shoot(page: Page, name: string): Promise<void> {
  if (!isAsked) return;
  await mkdir(FOLDER, { recursive: true });
  await page.waitForTimeout(300);
  await page.screenshot({ path: `${FOLDER}${name}.png` });
}

/** Waits until this many pictures are drawn. */
export async function showWhole(pictures: Locator, count: number): Promise<void> {
  await pictures.nth(count - 1).waitFor();
  const widths = await pictures.evaluateAll((all) =>
    Promise.all((all as HTMLImageElement[]).map((each) => each.decode().then(() => each.naturalWidth))),
  );
  assert.deepEqual(widths, Array(count).fill(1200));
}

/** A screen: the name of its picture, and how to get there from the previous screen. */
export type Step = readonly [picture: string, open: (page: Page, url: string) => Promise<unknown>];

export const DESK = { viewport: { width: 1280, height: 760 } };
export const PHONE = { viewport: { width: 390, height: 760 }, isMobile: true, hasTouch: true };

export const pressEscape = (page: Page) => page.keyboard.press("Escape");

export const openBookClub = async (page: Page) => {
  await page.getByRole("option", { name: "Book club" }).click();
  await find(page, "Me, please.").waitFor();
};

/** Visits each screen on a new page. Each must fit and be accessible in both themes. Takes its picture. */
export async function takeTour(
  browser: Browser,
  url: string,
  steps: readonly Step[],
  options: BrowserContextOptions,
  begin?: (page: Page) => Promise<void>,
): Promise<void> {
  const { page, guard } = await openPage(browser, url, options);
  await begin?.(page);
  for (const [picture, open] of steps) {
    await open(page, url);
    await assertNoSidewaysScroll(page, picture);
    await assertAccessible(page, picture);
    await page.emulateMedia({ colorScheme: options.colorScheme ?? "light" });
    await shoot(page, picture);
  }
  assert.deepEqual(guard.complaints, []);
  await page.unrouteAll({ behavior: "wait" });
  await page.context().close();
}
