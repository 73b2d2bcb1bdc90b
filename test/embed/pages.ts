// Pages of another origin than the server's, with a strict policy, that show the web components.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { BrowserContextOptions, Page } from "playwright-core";
import { startOn, testConfig } from "../support/app.ts";
import { openBrowser } from "../support/engines/chromium.ts";
import { pair } from "../support/people.ts";

const THEMES = join(import.meta.dirname, "../../examples/embed/themes.css");

/** Starts a server with Ann and Bob. `open` shows elements to one of them. `complaints` must stay empty. */
export async function openWorld(t: TestContext) {
  const app = await startOn(t, { ...(await testConfig(t)), corsOrigins: ["*"] });
  const { ann, bob, conversation } = await pair(app);
  const policy = [
    "default-src 'none'",
    "style-src 'self'",
    `script-src ${app.url}`,
    `connect-src ${app.url} ${app.url.replace("http", "ws")}`,
    `img-src ${app.url}`,
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
  const bodies: string[] = [];
  const server = createServer(({ url = "" }, response) => {
    if (url === "/themes.css") {
      response.writeHead(200, { "content-type": "text/css" }).end(readFileSync(THEMES));
      return;
    }
    const head = `<meta charset="utf-8"><title>Chat</title><link rel="stylesheet" href="/themes.css">
      <script type="module" src="${app.url}/embed.js"></script>`;
    response.writeHead(200, { "content-type": "text/html", "content-security-policy": policy });
    response.end(`<!doctype html><html lang="en">${head}<main>${bodies[Number(url.slice(1))] ?? ""}</main>`);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const complaints: string[] = [];
  const open = async (body: string, options: BrowserContextOptions = {}): Promise<Page> => {
    const context = await (await openBrowser(t)).newContext({ reducedMotion: "reduce", ...options });
    await context.addInitScript(() =>
      document.addEventListener("securitypolicyviolation", (event) =>
        console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`),
      ),
    );
    const page = await context.newPage();
    page.on("pageerror", (error) => complaints.push(String(error.stack)));
    page.on("console", (message) => {
      const isExpected = /^(?:Failed to load resource|WebSocket connection to)|CORS/.test(message.text());
      if (message.type() === "error" && !isExpected) complaints.push(message.text());
    });
    await page.goto(`${origin}/${bodies.push(body) - 1}`);
    return page;
  };
  /** Returns the HTML of an element of a user. */
  const toElement = (name: "inbox" | "chat", { token }: { token: string }, more = "") =>
    `<parley-${name} server="${app.url}" token="${token}" theme="auto" ${more}></parley-${name}>`;
  return { app, ann, bob, conversation, open, toElement, complaints };
}

/** Returns the message with this text. */
export function message(page: Page, text: string) {
  return page.locator(".message").filter({ has: page.locator(".text", { hasText: text }) });
}

/** Types into the composer and presses Enter. */
export async function write(page: Page, text: string): Promise<void> {
  const field = page.getByRole("textbox");
  await field.fill(text);
  await field.press("Enter");
}
