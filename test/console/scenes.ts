import { type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import { startApp, type TestApp, type TestUser } from "../support/app.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import { type Guard, openPage, signIn } from "./browser.ts";
import { type ProxyServer, startProxy } from "./proxy.ts";

/** What scenes share: a server, behind a network that does as they want, and a browser. */
export interface World {
  t: TestContext;
  server: TestApp;
  proxy: ProxyServer;
  /** A page that is nowhere yet. */
  visit(): Promise<{ page: Page; guard: Guard }>;
  /** A new user, signed in, with what `furnish` has made for them before. */
  arrive(furnish?: (user: TestUser) => unknown): Promise<{ user: TestUser; page: Page; guard: Guard }>;
}

/** As for a test (package.json). */
const SCENE_MS = 300_000;

/** A test of many short scenes, each with a user and a page of its own, in one browser. */
export function testScenes(title: string, scenes: Record<string, (world: World) => Promise<void>>): void {
  const timeout = SCENE_MS * Object.keys(scenes).length;
  test(title, { skip: noChromium, timeout }, async (t) => {
    const server = await startApp(t);
    const proxy = await startProxy(t, server);
    const browser = await openBrowser(t);
    const visit = () => openPage(browser, proxy.url);
    const arrive: World["arrive"] = async (furnish) => {
      const user = await server.user();
      await furnish?.(user);
      const { page, guard } = await visit();
      await signIn(page, proxy.url, user.token);
      return { user, page, guard };
    };
    for (const [name, play] of Object.entries(scenes)) {
      await t.test(name, { timeout: SCENE_MS }, async () => {
        // Each begins with a network that works, and no page of another.
        proxy.fate = () => "pass";
        proxy.passed = () => {};
        proxy.answered = () => {};
        await Promise.all(browser.contexts().map((context) => context.close()));
        await play({ t, server, proxy, visit, arrive });
      });
    }
  });
}
