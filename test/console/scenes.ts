import { type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import { startApp, type TestApp, type TestUser } from "../support/app.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import { type Guard, openPage, signIn } from "./browser.ts";
import { type ProxyServer, startProxy } from "./proxy.ts";

/** Shared by scenes: a server reached through a controllable proxy, and a browser. */
export interface World {
  t: TestContext;
  server: TestApp;
  proxy: ProxyServer;
  /** Opens a blank page. */
  visit(): Promise<{ page: Page; guard: Guard }>;
  /** Creates and signs in a new user. `furnish` first creates their data. */
  arrive(furnish?: (user: TestUser) => unknown): Promise<{ user: TestUser; page: Page; guard: Guard }>;
}

/** The same limit as for a test (package.json). */
const SCENE_MS = 300_000;

type Scenes = Record<string, (world: World) => Promise<void>>;

/** Runs many short scenes in one browser, each with its own user and page. */
export const testScenes = (title: string, scenes: Scenes): void => testScenesIn(openBrowser, title, scenes);

export function testScenesIn(open: typeof openBrowser, title: string, scenes: Scenes): void {
  const timeout = SCENE_MS * Object.keys(scenes).length;
  test(title, { skip: noChromium, timeout }, async (t) => {
    const server = await startApp(t);
    const proxy = await startProxy(t, server);
    const browser = await open(t);
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
        // Each scene starts with a working network and no open pages.
        proxy.fate = () => "pass";
        proxy.passed = () => {};
        proxy.answered = () => {};
        await Promise.all(browser.contexts().map((context) => context.close()));
        await play({ t, server, proxy, visit, arrive });
      });
    }
  });
}
