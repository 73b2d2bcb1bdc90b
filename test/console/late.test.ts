// Late and lost answers, and an unreachable server.
import assert from "node:assert/strict";
import { fillContacts } from "../../bench/rows.ts";
import { upload } from "../support/app.ts";
import { read, send } from "../support/people.ts";
import { choose, dropFiles, findItem, makeContact, openFiles, signIn } from "./browser.ts";
import { PNG } from "./pictures.ts";
import { gate, holdAnswers, UPGRADE } from "./proxy.ts";
import { testScenes } from "./scenes.ts";
import { introduce } from "./talk.ts";

const text = (name: string) => ({ name, type: "text/plain", base64: btoa(name) });

testScenes("late, lost and refused answers", {
  "a file whose answer was lost is retried and stored once": async ({ server, proxy, arrive }) => {
    const { user, page, guard } = await arrive();
    await page.getByRole("link", { name: "Notes to self" }).click();
    await openFiles(page);
    await page.getByRole("heading", { name: "Drop files here" }).waitFor();
    proxy.fate = (line) => (line.startsWith("POST") ? "lose" : "pass");
    await dropFiles(page, [text("once.txt")]);
    await page.locator(".tray-row").getByText("Waiting for the connection").waitFor();
    proxy.fate = () => "pass";
    await page.getByText("All files uploaded").waitFor();
    const listed = await fetch(`${server.url}/v1/attachments`, { headers: user.headers });
    assert.equal(((await listed.json()) as { data: unknown[] }).data.length, 1);
    assert.deepEqual(guard.complaints, []);
  },

  "a late answer to a block does not replace the contact that is open by then": async ({
    server,
    proxy,
    arrive,
  }) => {
    const { page, guard } = await arrive(async (user) => {
      for (const name of ["ada", "bea"]) await makeContact(server, user, name);
    });
    await page.getByRole("option", { name: "ada" }).click();
    const late = gate();
    proxy.fate = (line) => (line.endsWith("/block") ? late.passed : "pass");
    const request = page.waitForRequest((request) => request.url().endsWith("/block"));
    await choose(page, "Block contact");
    await request;
    await page.getByRole("option", { name: "bea" }).click();
    await page.getByRole("heading", { name: "bea" }).waitFor();
    late.open();
    await page.getByRole("status").filter({ hasText: "ada is blocked" }).waitFor();
    await page.getByRole("heading", { name: "bea" }).waitFor();
    // A rename and a block run concurrently; neither undoes the other.
    const renamed = gate();
    proxy.fate = (line) => (/^PUT .*con_\w+$/.test(line) ? renamed.passed : "pass");
    await page.getByRole("button", { name: "Rename contact bea" }).click();
    await page.keyboard.type("Beatrice");
    await page.keyboard.press("Enter");
    await choose(page, "Block contact");
    await findItem(page, "Unblock contact");
    renamed.open();
    await page.getByRole("heading", { name: "Beatrice" }).waitFor();
    await findItem(page, "Unblock contact");
    assert.deepEqual(guard.complaints, []);
  },

  "a page that fails to load is reported, and the end of the list offers a retry": async ({
    server,
    proxy,
    arrive,
  }) => {
    const { page, guard } = await arrive((user) => fillContacts(server.config.dataFolder, user.id, 1, 150));
    const asked: string[] = [];
    await page.getByRole("option").first().waitFor();
    let isBroken = true;
    proxy.fate = (line) => {
      if (line.startsWith("GET /v1/contacts")) asked.push(line);
      return isBroken && line.startsWith("GET /v1/contacts") ? "break" : "pass";
    };
    const search = page.getByLabel("Search contacts");
    await search.fill("zzz");
    const failure = page.getByRole("alert").filter({ hasText: "Try again" });
    await failure.waitFor();
    assert.equal(await page.getByRole("option").count(), 0);
    isBroken = false;
    await failure.getByRole("button").click();
    await page.getByText("Nothing matches “zzz”.").waitFor();
    proxy.fate = (line) => {
      if (line.includes("starting_after")) asked.push(line);
      return isBroken && line.includes("starting_after") ? "break" : "pass";
    };
    isBroken = true;
    await search.fill("");
    await page.getByRole("option").first().waitFor();
    await page.getByRole("listbox").focus();
    await page.keyboard.press("End");
    await failure.waitFor();
    asked.length = 0;
    await page.keyboard.press("Home");
    await page.keyboard.press("End");
    assert.deepEqual(asked, [], "what has failed is not asked for again and again");
    isBroken = false;
    await failure.getByRole("button").click();
    // The failure disappears on a retry. The list has its final size once the page is loaded.
    await page.locator("[role=option][aria-setsize='150']").first().waitFor();
    assert.equal(await failure.count(), 0);
    await page.getByRole("listbox").focus();
    await page.keyboard.press("End");
    await page.locator("[role=option][aria-posinset='150'][aria-setsize='150']").waitFor();
    assert.equal(asked.length, 1);
    assert.deepEqual(guard.complaints, []);
  },

  "changes made while a page is loading are not lost": async ({ server, proxy, arrive }) => {
    const { user, page, guard } = await arrive();
    const late = holdAnswers(proxy, /^GET \/v1\/attachments/);
    await page.getByRole("link", { name: "Notes to self" }).click();
    await openFiles(page);
    await page.locator(".conversation").getByText("Loading…").waitFor();
    // The answer is an empty list.
    await late.arrived;
    await upload(server.url, user, new File(["new"], "meanwhile.txt"));
    // Its event arrives before the list.
    await page.waitForTimeout(1000);
    late.release();
    await page.locator(".conversation").getByText("Loading…").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Open meanwhile.txt" }).waitFor();
    assert.deepEqual(guard.complaints, []);
  },

  "the first event is handled even if it arrives before the stream opens": async ({
    server,
    proxy,
    arrive,
  }) => {
    const { user, page, guard } = await arrive();
    await page.goto("about:blank");
    let asked = 0;
    // The list of contacts was read before any of these requests.
    const addFirst = async () => {
      await page.getByText("No contacts yet").waitFor();
      await makeContact(server, user, "ada");
      return "pass" as const;
    };
    proxy.fate = (line) => {
      if (!line.startsWith("GET /v1/events") || ++asked > 1) return "pass";
      return addFirst();
    };
    await signIn(page, proxy.url, user.token);
    await page.getByRole("option", { name: "ada" }).waitFor();
    assert.deepEqual(guard.complaints, []);
  },

  "a stream that fails to open is retried with growing pauses": async ({ proxy, arrive }) => {
    const { user, page, guard } = await arrive();
    await page.clock.install();
    await signIn(page, proxy.url, user.token);
    while (proxy.openStreams() === 0) await page.waitForTimeout(20);
    // From here on, only the test advances the clock.
    await page.clock.pauseAt(Date.now() + 5000);
    let asked = 0;
    proxy.fate = (line) => {
      if (!line.startsWith("GET /v1/events")) return "pass";
      // Each attempt tries both transports.
      if (line === UPGRADE) asked++;
      return "break";
    };
    proxy.cutStreams();
    // Each pause is at least half as long as the longest that it can be.
    for (let failures = 1; failures <= 5; failures++) {
      // By then the page has read the answer, and the pause has started.
      await page.waitForTimeout(300);
      const longest = 250 * 2 ** (failures - 1);
      await page.clock.fastForward(longest / 2 - 20);
      await page.waitForTimeout(300);
      assert.equal(asked, failures - 1);
      await page.clock.fastForward(longest / 2 + 40);
      while (asked < failures) await page.waitForTimeout(20);
    }
    assert.deepEqual(guard.complaints, []);
  },

  "a group is requested again after 429": async (world) => {
    const { server, proxy } = world;
    const [ann, bob] = [await world.arrive(), await server.user()];
    await introduce(server, ann.user, bob);
    const { page, guard, user } = ann;
    const { username } = await read<{ username: string }>(send(server, user, "GET", "/v1/me"), 200);
    while (proxy.openStreams() === 0) await page.waitForTimeout(20);
    let asked = 0;
    await page.route(/\/v1\/groups\/grp_\w+$/, (route) => {
      // The client itself tries five times.
      if (++asked > 5) return route.fallback();
      const problem = { type: "about:blank", title: "No", status: 429, code: "rate_limited", detail: "No." };
      const headers = { "content-type": "application/problem+json", "retry-after": "0" };
      return route.fulfill({ status: 429, headers, body: JSON.stringify(problem) });
    });
    const fields = { name: "Climbing", members: [username] };
    await read(send(server, bob, "POST", "/v1/groups", fields), 201);
    while (asked < 6) await page.waitForTimeout(20);
    await page.getByRole("button", { name: "Join Climbing" }).waitFor();
    assert.deepEqual(guard.complaints, []);
  },

  "a thumbnail that failed is retried with its new URL": async ({ server, proxy, arrive }) => {
    const { user, page, guard } = await arrive();
    proxy.fate = (line) => (line.startsWith("GET /files/") ? "break" : "pass");
    const made = await upload(server.url, user, new File([PNG], "a.png"));
    const { id } = (await made.json()) as { id: string };
    await page.getByRole("link", { name: "Notes to self" }).click();
    await openFiles(page);
    await page.locator(`#${id} .thumb-icon`).waitFor();
    proxy.fate = () => "pass";
    const body = new URLSearchParams({ filename: "b.png" });
    await fetch(`${server.url}/v1/attachments/${id}`, { method: "PUT", headers: user.headers, body });
    await page.locator(`#${id} .thumb img`).waitFor();
    assert.deepEqual(guard.complaints, []);
  },

  "failures stay until they are dismissed": async ({ server, proxy, arrive }) => {
    const { page, guard } = await arrive((user) => makeContact(server, user, "ada"));
    await page.getByRole("option", { name: "ada" }).click();
    proxy.fate = (line) => (line.startsWith("GET") ? "pass" : "break");
    await choose(page, "Block contact");
    await page.getByRole("button", { name: "Rename contact ada" }).click();
    await page.keyboard.type("b");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").filter({ hasText: "not renamed" }).waitFor();
    await page.keyboard.press("Escape");
    await choose(page, "Delete contact");
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("alert").filter({ hasText: "not deleted" }).waitFor();
    await page.getByRole("alert").filter({ hasText: "not blocked" }).waitFor();
    proxy.fate = () => "pass";
    await choose(page, "Block contact");
    await page.getByRole("status").filter({ hasText: "ada is blocked" }).waitFor();
    for (const what of ["blocked", "renamed", "deleted"]) {
      assert.equal(await page.getByRole("alert").getByText(`ada was not ${what}`).count(), 1, what);
    }
    await page.getByRole("button", { name: "Dismiss all 3" }).click();
    await page.getByRole("alert").getByText("was not").first().waitFor({ state: "detached" });
    assert.deepEqual(guard.complaints, []);
  },

  "an unreachable server is reported, and a kept session is not asked for again": async ({
    proxy,
    arrive,
  }) => {
    const { page, guard } = await arrive();
    const late = gate();
    proxy.fate = (line) => (line === "GET /v1/me" ? late.passed : "pass");
    await page.reload();
    await page.getByText("Loading…").waitFor();
    late.open();
    await page.getByText("No contacts yet").waitFor();
    while (proxy.openStreams() === 0) await page.waitForTimeout(20);
    proxy.fate = (line) => (line.startsWith("GET /v1/") ? "break" : "pass");
    proxy.cutStreams();
    const away = page.getByText("Reconnecting…");
    await away.waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "Parley does not answer" }).waitFor();
    proxy.fate = () => "pass";
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("No contacts yet").waitFor();
    await away.waitFor({ state: "detached" });
    // The stream also comes back by itself.
    while (proxy.openStreams() === 0) await page.waitForTimeout(20);
    proxy.fate = (line) => (line.startsWith("GET /v1/") ? "break" : "pass");
    proxy.cutStreams();
    await away.waitFor();
    proxy.fate = () => "pass";
    await away.waitFor({ state: "detached" });
    assert.deepEqual(guard.complaints, []);
  },
});
