// Files opened by their links, each in a tab of a real browser.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { startApp, type TestApp, type TestUser, upload } from "../support/app.ts";
import { noChromium, openWholeBrowser } from "../support/engines/chromium.ts";
import { noFirefox, openFirefox } from "../support/engines/firefox.ts";
import { eventually } from "../support/files-on-disk.ts";
import { FILM, SOUND } from "../support/media-bytes.ts";
import { blackPng } from "../support/picture-bytes.ts";

/** Padding that players of WebM skip. With 6 MB, Firefox needs a second, ranged request. */
const PADDING_BYTES = 6_000_000;
const PADDING = Buffer.concat([Buffer.from([0xec, 0x10]), Buffer.alloc(3 + PADDING_BYTES)]);
PADDING.writeUIntBE(PADDING_BYTES, 2, 3);

async function linkTo(server: TestApp, user: TestUser, file: File): Promise<string> {
  const made = await upload(server.url, user, file);
  assert.equal(made.status, 201, file.name);
  return ((await made.json()) as { file_url: string }).file_url;
}

/** A tab, and the browser's complaints about its page. */
async function openTab(browser: Browser): Promise<{ tab: Page; complaints: string[] }> {
  const tab = await (await browser.newContext()).newPage();
  const complaints: string[] = [];
  tab.on("console", (message) => {
    if (/policy|blocked|sandbox/i.test(message.text())) complaints.push(message.text());
  });
  return { tab, complaints };
}

/** Starts playback. An audio player has no picture to click. */
async function press(tab: Page, hasPictures: boolean): Promise<void> {
  if (hasPictures) await tab.locator("video").click();
  else await tab.evaluate(() => void document.querySelector("video")!.play());
}

const BROWSERS = [
  ["Chromium", noChromium, openWholeBrowser],
  ["Firefox", noFirefox, openFirefox],
] as const;

for (const [name, skip, open] of BROWSERS) {
  test(`${name} plays video and audio opened by a link`, { skip }, async (t) => {
    const server = await startApp(t);
    const user = await server.user();
    const { tab, complaints } = await openTab(await open(t));
    for (const [file, hasPictures] of [
      [new File([new Uint8Array(Buffer.concat([FILM, PADDING]))], "film.webm"), true],
      [new File([new Uint8Array(SOUND)], "sound.webm", { type: "audio/webm" }), false],
    ] as const) {
      await tab.goto(await linkTo(server, user, file));
      // The page runs no scripts, not even ones that the test would wait in.
      const state = () =>
        tab.evaluate(() => {
          const { readyState, duration, currentTime, error, videoWidth } = document.querySelector("video")!;
          const failed = error && `${error.code} ${error.message}`;
          return { hasData: readyState >= 2, duration, currentTime, failed, videoWidth };
        });
      assert.ok(await eventually(async () => (await state()).hasData), JSON.stringify(await state()));
      // Firefox plays at once, Chromium does not in a sandbox.
      if (name === "Chromium") await press(tab, hasPictures);
      const plays = async () => (await state()).currentTime > 0;
      assert.ok(await eventually(plays), `${file.name}: ${JSON.stringify(await state())}`);
      const { duration, videoWidth, failed } = await state();
      assert.ok(duration > 0 && duration < 1, `${duration} s`);
      assert.equal(videoWidth, hasPictures ? 32 : 0);
      // Without a sound card, audio cannot play further.
      if (hasPictures) assert.equal(failed, null);
    }
    assert.deepEqual(complaints, []);
  });

  test(`${name} shows and styles a picture opened by a link`, { skip }, async (t) => {
    const server = await startApp(t);
    const { tab, complaints } = await openTab(await open(t));
    const picture = new File([new Uint8Array(blackPng(40, 30))], "dot.png");
    await tab.goto(await linkTo(server, await server.user(), picture));
    const size = await tab.locator("img").evaluate((img: HTMLImageElement) => [img.naturalWidth, img.width]);
    assert.deepEqual(size, [40, 40]);
    assert.deepEqual(complaints, []);
  });
}

/** Everything in a page that can make a browser send a request or act. */
const ACTIVE = `<!doctype html><html><title>before</title>
<style>@import "/canary-style"; body { background: url(/canary-background) }</style>
<meta http-equiv="refresh" content="0;url=/canary-refresh">
<link rel="stylesheet" href="/canary-link"><iframe src="/canary-frame"></iframe>
<object data="/canary-object"></object><embed src="/canary-embed"><img src="/canary-image">
<script>document.title = "ran"; new Image().src = "/canary-script"; alert("canary")</script>
<script src="/canary-source"></script><img src="x:" onerror="document.title = 'ran'">
<form action="/canary-form"><button autofocus id="send">send</button></form>`;

const POLYGLOTS: [name: string, type: string, head: Buffer][] = [
  ["film.webm", "video/webm", FILM],
  ["sound.webm", "audio/webm", SOUND],
  ["picture.gif", "image/gif", Buffer.from("GIF89a\u0001\0\u0001\0\0\0\0;", "latin1")],
];

test("HTML disguised as a video, sound or picture does nothing, even if the browser detects HTML", {
  skip: noChromium,
}, async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const browser = await openWholeBrowser(t);
  for (const [name, type, head] of POLYGLOTS) {
    const bytes = new Uint8Array(Buffer.concat([head, Buffer.from(ACTIVE)]));
    const link = await linkTo(server, user, new File([bytes], name, { type }));
    /** Opens the file with these headers, and returns what happened in the tab. */
    const open = async (change: Record<string, string>, sends = false) => {
      const { tab } = await openTab(browser);
      const seen: string[] = [];
      tab.on("dialog", (dialog) => {
        seen.push(dialog.message());
        void dialog.dismiss();
      });
      // A request that the policy stops has no response.
      tab.on("response", (answer) => answer.url().includes("/canary") && seen.push(answer.url()));
      await tab.route(`**/${name}?*`, async (route) => {
        const response = await route.fetch();
        assert.equal(response.headers()["content-type"], type);
        await route.fulfill({ response, headers: { ...response.headers(), ...change } });
      });
      await tab.goto(link);
      // Long enough to notice anything that runs.
      await tab.waitForTimeout(300);
      if (sends && seen.length === 0) {
        await tab.locator("#send").click();
        await tab.waitForTimeout(300);
      }
      if ((await tab.title()) === "ran") seen.push("ran");
      await tab.context().close();
      return seen;
    };
    assert.deepEqual(await open({}), [], name);
    assert.deepEqual(await open({ "content-type": "text/html" }, true), [], name);
    const unguarded = await open({ "content-type": "text/html", "content-security-policy": "" });
    assert.ok(unguarded.length > 5, `${name}: the test would see nothing`);
  }
});
