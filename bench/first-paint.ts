// Prints how long the console takes in a browser without a cache until it first paints, shows the sign-in, and shows the
// conversations of a user who is signed in: at full speed, and at 50 kB/s with a latency of 400 ms.
// usage: runtime/node bench/first-paint.ts
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BrowserContext, chromium, type Page } from "playwright-core";
import { createApp } from "../src/app.ts";
import { readConfig } from "../src/config/settings.ts";
import { createToken } from "../src/core/people/tokens.ts";
import { createUser } from "../src/core/people/users.ts";
import { KIB } from "./requests.ts";

const ROUNDS = 5;
const NETWORKS = [
  { name: "full speed", latency: 0, bytesPerSecond: -1 },
  { name: "50 kB/s, 400 ms", latency: 400, bytesPerSecond: 50_000 },
];

interface Times {
  paint: number;
  ready: number;
  received: number;
}

const folder = await mkdtemp(join(tmpdir(), "parley-first-paint-"));
const settings = { PARLEY_DATA: join(folder, "data"), PARLEY_PORT: "0", PARLEY_LOG_LEVEL: "silent" };
const app = await createApp(readConfig(settings));
await app.start();
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  const { id } = await createUser(app.core, null, { username: "bench" });
  const { token } = await createToken(app.core, null, id, {});
  console.log("| network | page | first paint | shown | received |\n|---|---|---|---|---|");
  for (const network of NETWORKS) {
    for (const [page, shown] of [
      ["sign-in", "input[name=token]"],
      ["signed in", ".workspace"],
    ] as const) {
      const rounds: Times[] = [];
      for (let i = 0; i < ROUNDS; i++) {
        const context = await browser.newContext();
        if (page === "signed in") await signIn(context, token);
        rounds.push(await measure(context, network, shown));
        await context.close();
      }
      const ms = (name: keyof Times) => Math.round(median(rounds.map((each) => each[name])));
      const size = (ms("received") / KIB).toFixed(1);
      console.log(`| ${network.name} | ${page} | ${ms("paint")} ms | ${ms("ready")} ms | ${size} KiB |`);
    }
  }
} finally {
  await browser.close();
  await app.stop();
  await rm(folder, { recursive: true, force: true });
}

async function signIn(context: BrowserContext, token: string): Promise<void> {
  const page = await context.newPage();
  await page.goto(`${app.core.origin()}/`);
  await page.getByLabel("Access token").fill(token);
  await page.keyboard.press("Enter");
  await page.locator(".workspace").waitFor();
  await page.close();
}

async function measure(
  context: BrowserContext,
  { latency, bytesPerSecond }: (typeof NETWORKS)[number],
  shown: string,
): Promise<Times> {
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  let received = 0;
  session.on("Network.loadingFinished", ({ encodedDataLength }) => {
    received += encodedDataLength;
  });
  await session.send("Network.enable");
  await session.send("Network.setCacheDisabled", { cacheDisabled: true });
  await session.send("Network.emulateNetworkConditions", {
    offline: false,
    latency,
    downloadThroughput: bytesPerSecond,
    uploadThroughput: bytesPerSecond,
  });
  await page.goto(`${app.core.origin()}/`, { waitUntil: "commit" });
  await page.locator(shown).waitFor();
  const ready = await page.evaluate(() => performance.now());
  return { paint: await firstPaint(page), ready, received };
}

function firstPaint(page: Page): Promise<number> {
  return page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        const look = () => {
          const [entry] = performance.getEntriesByName("first-contentful-paint");
          if (entry) resolve(entry.startTime);
          else setTimeout(look, 10);
        };
        look();
      }),
  );
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}
