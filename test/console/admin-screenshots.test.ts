// Tests each screen of the administration. PARLEY_PICTURES=1 npm run t test/console/admin-screenshots.test.ts takes
// its pictures again.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
import { createToken, SCOPES } from "../../src/core/people/tokens.ts";
import { createUser } from "../../src/core/people/users.ts";
import { startApp, type TestApp, type TestUser, upload } from "../support/app.ts";
import { asker } from "../support/asker.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import { DAY_MS, hook, LIMITS, newest } from "../support/hooks.ts";
import { receiver } from "../support/receiver.ts";
import { makeContact, openPage } from "./browser.ts";
import { dialog, enter, go, press, row, sendNote } from "./in-admin.ts";
import { isAsked, PEOPLE, PHONE, pressEscape, type Step, shoot, takeTour } from "./in-screenshots.ts";

const QUOTA = 5_000_000;
/** Bytes stored by each of PEOPLE. */
const STORED = [0, 120_400, 2_310_000, 48_300, 861_000, 0, 4_720_000, 1_284_000];
const TALKER = ["contacts:read", "contacts:write", "messages:read", "messages:write"];

interface Office {
  server: TestApp;
  admin: TestUser;
  /** Ada owns the webhook that fails. */
  ada: TestUser;
  /** A leaked token. */
  leaked: string;
  failing: string;
  /** The display name of each receiver, by its local port. */
  names: Map<string, string>;
}

async function addAdmin(server: TestApp): Promise<TestUser> {
  const { id } = await createUser(server.app.core, null, { username: "joan", display_name: "Joan Clarke" });
  const { token } = await createToken(server.app.core, null, id, { scopes: SCOPES, name: "Desk" });
  return { id, token, headers: { authorization: `Bearer ${token}` } };
}

/** Creates an administrator, people with tokens and files, and three webhooks. */
async function furnish(t: TestContext): Promise<Office> {
  const past = { days: 60 };
  const clock = () => Math.round(Date.now() - past.days * DAY_MS);
  const server = await startApp(t, { ...LIMITS, userQuotaBytes: QUOTA }, { clock });
  const admin = await addAdmin(server);
  const ask = asker(server, admin);
  const make = async (path: string, fields: object) => {
    const { status, body } = await ask("POST", path, fields);
    assert.equal(status, 201);
    return body as { id: string; token: string };
  };
  const users = new Map<string, TestUser>();
  for (const [at, [username, display_name]] of PEOPLE.entries()) {
    past.days -= 6.3;
    const { id } = await make("/v1/users", {
      username,
      display_name,
      phone_number: `+1 555 01${10 + at}`,
    });
    const { token } = await make("/v1/tokens", { user_id: id, name: at % 2 ? "Laptop" : "Phone" });
    const user = { id, token, headers: { authorization: `Bearer ${token}` } };
    users.set(username, user);
    if (STORED[at]! === 0) continue;
    const file = new File([Buffer.alloc(STORED[at]!, username)], `${username}.txt`);
    assert.equal((await upload(server.url, user, file)).status, 201);
  }
  const ada = users.get("ada")!;
  const days = (count: number) => Math.floor((Date.now() + count * DAY_MS) / 1000);
  past.days = 2.6;
  await make("/v1/tokens", {
    user_id: ada.id,
    name: "Reminders",
    scopes: TALKER,
    expires_at: days(30),
  });
  const { token: leaked } = await make("/v1/tokens", {
    user_id: users.get("grace")!.id,
    name: "Nightly export",
    scopes: ["contacts:read", "attachments:read"],
    expires_at: days(90),
  });
  await make("/v1/tokens", { user_id: admin.id, name: "Prometheus", scopes: ["admin"] });
  return { server, admin, ada, leaked, ...(await addWebhooks(t, server, admin, users, past)) };
}

/** Creates the webhooks. Ada's worked once and now fails; the others work. */
async function addWebhooks(
  t: TestContext,
  server: TestApp,
  admin: TestUser,
  users: ReadonlyMap<string, TestUser>,
  past: { days: number },
): Promise<Pick<Office, "failing" | "names">> {
  const [ada, barbara] = [users.get("ada")!, users.get("barbara")!];
  let status = 204;
  const flaky = await receiver(t, (response) => response.writeHead(status).end());
  const crm = await receiver(t);
  const search = await receiver(t);
  const failing = await hook(server, ada, flaky, {
    events: ["message.created", "contact.created"],
  });
  await hook(server, barbara, crm, { events: ["contact.created", "contact.updated"] });
  await hook(server, admin, search, { all_users: true });
  await makeContact(server, ada, "grace", "Grace");
  await makeContact(server, barbara, "alan", "Alan");
  await sendNote(server, ada, "Note G: the numbers of Bernoulli");
  await newest(server, ada, failing, { state: "delivered", type: "message.created" });
  status = 401;
  past.days = 0;
  await makeContact(server, ada, "alan", "Alan");
  await newest(server, ada, failing, { last_status: 401 });
  await sendNote(server, ada, "Ask Alan for the tables");
  const names = new Map([
    [flaky.url, "https://reminders.example.com/parley"],
    [crm.url, "https://crm.example.com/hooks/contacts"],
    [search.url, "https://search.example.com/index"],
  ]);
  return { failing: String(failing.id), names };
}

/** Shows receivers under realistic hostnames. */
async function nameReceivers(page: Page, names: ReadonlyMap<string, string>): Promise<void> {
  await page.route(/\/v1\/(webhooks|audit)/, async (route) => {
    const answer = await route.fetch();
    let text = await answer.text();
    for (const [url, name] of names)
      text = text.replaceAll(url, name).replaceAll(new URL(url).origin, new URL(name).origin);
    await route.fulfill({ response: answer, body: text });
  });
}

async function openWebhook(page: Page, address: string): Promise<void> {
  await page.goto(address);
  await page.getByRole("status", { name: "State" }).getByText("check the signature").waitFor();
  await row(page, "Deliveries", "Delivered").first().waitFor();
}

function toDeskSteps({ ada, leaked, failing }: Office): readonly Step[] {
  return [
    [
      "admin-users",
      async (page) => {
        await go(page, "Users");
        await row(page, "Users", "radia").waitFor();
      },
    ],
    [
      "admin-user",
      async (page, url) => {
        await page.goto(`${url}/#admin/users/${ada.id}`);
        await row(page, "Webhooks of ada", "Failing").waitFor();
        await row(page, "Audit entries about ada", "joan created the user ada").waitFor();
      },
    ],
    [
      "admin-erase-user",
      async (page) => {
        await press(page, "Erase user");
        await dialog(page).getByLabel("Type ada to confirm").waitFor();
      },
    ],
    [
      "admin-tokens",
      async (page) => {
        await pressEscape(page);
        await go(page, "Tokens");
        await row(page, "Tokens", "Prometheus").waitFor();
      },
    ],
    [
      "admin-leaked-token",
      async (page) => {
        await press(page, "Revoke a leaked token");
        await dialog(page).getByLabel("Token").fill(leaked);
        await press(page, "Find");
        await dialog(page).getByRole("heading", { name: "Revoke “Nightly export”?" }).waitFor();
      },
    ],
    [
      "admin-create-token",
      async (page, url) => {
        await pressEscape(page);
        await page.goto(`${url}/#admin/users/${ada.id}`);
        await page.getByRole("heading", { name: "ada", level: 1 }).waitFor();
        await press(page, "Create a token");
        await dialog(page).getByLabel("What it is for").fill("Backup of the notes");
        await dialog(page).getByText("90 days").click();
      },
    ],
    [
      "admin-new-token",
      async (page) => {
        await dialog(page).getByRole("button", { name: "Create" }).click();
        await dialog(page).getByLabel("Token", { exact: true }).waitFor();
      },
    ],
    [
      "admin-webhooks",
      async (page) => {
        await press(page, "Copy token");
        await press(page, "Done");
        await page.getByText("Token copied.").waitFor({ state: "detached" });
        await go(page, "Webhooks");
        await row(page, "Webhooks", /reminders.*Failing/).waitFor();
      },
    ],
    ["admin-webhook", (page, url) => openWebhook(page, `${url}/#admin/webhooks/${failing}`)],
    [
      "admin-audit",
      async (page) => {
        await go(page, "Audit trail");
        await row(page, "Audit trail", "ada added a contact").first().waitFor();
      },
    ],
  ];
}

const onPhone = ({ failing }: Office): readonly Step[] => [
  [
    "phone-admin-users",
    async (page) => {
      await go(page, "Users");
      await row(page, "Users", "radia").waitFor();
    },
  ],
  ["phone-admin-webhook", (page, url) => openWebhook(page, `${url}/#admin/webhooks/${failing}`)],
];

const TALL = { viewport: { width: 1280, height: 900 } };

test("each screen of the administration fits and is accessible", { skip: noChromium }, async (t) => {
  const office = await furnish(t);
  const { server, admin, names } = office;
  const browser = await openBrowser(t);
  const begin = async (page: Page) => {
    await nameReceivers(page, names);
    await enter(page, server.url, admin.token);
  };
  await takeTour(browser, server.url, toDeskSteps(office), TALL, begin);
  await takeTour(browser, server.url, onPhone(office), { ...PHONE, colorScheme: "dark" }, begin);
});

/** How often the overview reads the metrics: every five seconds of a simulated clock. */
const READINGS = isAsked ? 60 : 3;

test("the overview draws its charts in light and dark", { skip: noChromium }, async (t) => {
  const { server, admin, ada, names } = await furnish(t);
  const { token } = await createToken(server.app.core, null, ada.id, {});
  const headers = { authorization: `Bearer ${token}` };
  const { page, guard } = await openPage(await openBrowser(t), server.url, TALL);
  await nameReceivers(page, names);
  await page.clock.install();
  await enter(page, server.url, admin.token);
  await page.clock.pauseAt(Date.now() + 2000);
  for (let reading = 0; reading < READINGS; reading++) {
    const count = 12 + Math.round(7 * Math.sin(reading / 6) + 4 * Math.sin(reading * 1.9));
    for (let request = 0; request < count; request++)
      await (await fetch(`${server.url}/v1/contacts?limit=20`, { headers })).arrayBuffer();
    await page.clock.runFor(5000);
    await sleep(100);
  }
  await page.getByText("All checks pass.").waitFor();
  await row(page, "Users with most storage", /grace.*1.3 MB of 5 MB/).waitFor();
  const drawn = await page.locator(".chart polyline:not(.dot)").count();
  assert.ok(drawn > 3, `${drawn} charts have a line`);
  await shoot(page, "admin-overview");
  await page.emulateMedia({ colorScheme: "dark" });
  await shoot(page, "admin-overview-dark");
  assert.deepEqual(guard.complaints, []);
});
