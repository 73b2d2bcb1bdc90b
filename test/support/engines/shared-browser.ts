import { after, type TestContext } from "node:test";
import type { Browser } from "playwright-core";

/**
 * Returns a function that opens the browser of a test file. Its pages close after each test, and the browser after the
 * file, because starting one takes longer than most tests.
 */
export function shareBrowser(launch: () => Promise<Browser>): (t: TestContext) => Promise<Browser> {
  let browser: Promise<Browser> | undefined;
  after(async () => (await browser)?.close());
  return async (t) => {
    browser ??= launch();
    const opened = await browser;
    t.after(() => Promise.all(opened.contexts().map((context) => context.close())));
    return opened;
  };
}
