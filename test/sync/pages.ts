// parley-sync in pages of one browser, with a proxy before the server.
import type { TestContext } from "node:test";
import type { BrowserContext, Page } from "playwright-core";
import { startApp } from "../support/app.ts";
import { openBrowser } from "../support/engines/chromium.ts";
import { IMPORTS, moduleAt } from "../support/page-modules.ts";
import { pair } from "../support/people.ts";
import { type Between, type Fate, proxy } from "../support/proxy.ts";

export interface Tab {
  page: Page;
  /** Runs code that can use `sync`, `client` and `conversation`, and returns its result. */
  run: <T>(code: string) => Promise<T>;
}

/** Starts a server with two users, Ann and Bob, and returns what opens tabs of Ann's. */
export async function openTabs(t: TestContext, fateOf: (path: string, seen: Between["seen"]) => Fate) {
  const app = await startApp(t);
  const { ann, bob, conversation } = await pair(app);
  const between = await proxy(t, app.url, (path, seen) => {
    if (path.startsWith("/v1/")) return fateOf(path, seen);
    return moduleAt(path) ?? { status: 200, headers: { "content-type": "text/html" }, body: IMPORTS };
  });
  const context: BrowserContext = await (await openBrowser(t)).newContext();
  const open = async (): Promise<Tab> => {
    const page = await context.newPage();
    await page.goto(`${between.url}/`);
    await page.evaluate(`(async () => {
      const { Parley } = await import("/packages/parley-client/src/index.ts");
      const { openSync } = await import("/packages/parley-sync/src/index.ts");
      const { indexedDbStore } = await import("/packages/parley-sync/src/indexeddb.ts");
      globalThis.store = await indexedDbStore();
      globalThis.client = new Parley({ url: location.origin, token: ${JSON.stringify(ann.token)} });
      globalThis.sync = await openSync({ client, store });
      globalThis.conversation = sync.conversation(${JSON.stringify(conversation)});
      conversation.subscribe(() => {});
      globalThis.id = ${JSON.stringify(conversation)};
    })()`);
    return { page, run: (code) => page.evaluate(`(async () => { ${code} })()`) };
  };
  return { app, ann, bob, conversation, between, open };
}
