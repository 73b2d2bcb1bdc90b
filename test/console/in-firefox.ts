// Shared by the tests in Firefox.
import { type TestContext, test } from "node:test";
import type { BrowserContextOptions, Page } from "playwright-core";
import { startOn, type TestApp, type TestUser, testConfig } from "../support/app.ts";
import { noFirefox, openFirefox } from "../support/engines/firefox.ts";
import { LIMITS } from "../support/hooks.ts";
import { assertAccessible, assertNoSidewaysScroll, type Guard, openPage, signIn } from "./browser.ts";
import { type ProxyServer, startProxy } from "./proxy.ts";

interface Arrival {
  page: Page;
  guard: Guard;
}

/** A server behind a proxy, and Firefox. */
export interface FirefoxWorld {
  t: TestContext;
  server: TestApp;
  proxy: ProxyServer;
  visit(options?: BrowserContextOptions): Promise<Arrival>;
  /** Opens a new window and signs in. */
  arrive(user: TestUser, options?: BrowserContextOptions): Promise<Arrival>;
}

/**
 * Lets Playwright run functions in the page by `eval`: only Chromium exempts its driver from the policy. Keeps the
 * rest of the policy.
 */
function allowEval(policy: string): string {
  return policy
    .replace("script-src 'self'", "script-src 'self' 'unsafe-eval'")
    .replace("require-trusted-types-for 'script'; ", "");
}

export function testInFirefox(title: string, play: (world: FirefoxWorld) => Promise<void>): void {
  test(title, { skip: noFirefox }, async (t) => {
    const server = await startOn(t, await testConfig(t, { ...LIMITS, shutdownTimeoutMs: 500 }));
    const proxy = await startProxy(t, server);
    proxy.toPolicy = allowEval;
    const browser = await openFirefox(t);
    const visit: FirefoxWorld["visit"] = (options) => openPage(browser, proxy.url, options);
    const arrive: FirefoxWorld["arrive"] = async (user, options) => {
      const arrival = await visit(options);
      await signIn(arrival.page, proxy.url, user.token);
      return arrival;
    };
    await play({ t, server, proxy, visit, arrive });
  });
}

/** Fails unless the page fits and is accessible. Switches the theme in the menu, because Firefox cannot emulate it. */
export async function assertFit(page: Page, what: string): Promise<void> {
  await assertNoSidewaysScroll(page, what);
  await assertAccessible(page, what, (scheme) =>
    page.evaluate((scheme) => {
      document.documentElement.dataset.theme = scheme;
    }, scheme),
  );
}
