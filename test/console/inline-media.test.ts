// Sound, video, small pictures and documents in messages.
import assert from "node:assert/strict";
import type { Locator, Page } from "playwright-core";
import { upload } from "../support/app.ts";
import { FILM, SOUND, tone } from "../support/media-bytes.ts";
import { assertAccessible, assertNoSidewaysScroll } from "./browser.ts";
import { opener } from "./in-files.ts";
import { paint } from "./pictures.ts";
import { testScenes, type World } from "./scenes.ts";
import { introduce, say, sayFiles } from "./talk.ts";

const SECONDS = 30;
/** The element of WebM that contains the duration, and its size. */
const DURATION = Buffer.from([0x44, 0x89, 0x84]);

async function arrive(world: World) {
  const ann = await world.arrive();
  const bob = await world.server.user();
  const id = await introduce(world.server, ann.user, bob);
  const open = () => ann.page.getByRole("option", { name: "Bob" }).click();
  return { ...ann, bob, id, open };
}

const play = (page: Page, name: string) => page.getByRole("button", { name: `Play ${name}` });
const pause = (page: Page, name: string) => page.getByRole("button", { name: `Pause ${name}` });

/** Returns what a media element plays. */
function toState(media: Locator): Promise<{ paused: boolean; time: number }> {
  return media.evaluate((each: HTMLMediaElement) => ({ paused: each.paused, time: each.currentTime }));
}

/** Asserts that nothing covers an element. */
async function assertUncovered(element: Locator): Promise<void> {
  const covered = await element.evaluate((each) => {
    const { left, right, top, bottom } = each.getBoundingClientRect();
    const points = [left + 1, (left + right) / 2, right - 1].map((x) =>
      document.elementFromPoint(x, (top + bottom) / 2),
    );
    return points.filter((at) => !at || !(each.contains(at) || at.contains(each))).map((at) => at?.outerHTML);
  });
  assert.deepEqual(covered, []);
}

testScenes("media in messages", {
  "plays sound in place, with its position and duration": async (world) => {
    const { page, guard, bob, id, open } = await arrive(world);
    await sayFiles(world.server, bob, id, [["tone.wav", tone(SECONDS)]]);
    await open();
    await page.getByText("0:30", { exact: true }).waitFor();
    const audio = page.locator("audio");
    const position = page.getByRole("slider", { name: "Position" });
    await position.evaluate((range: HTMLInputElement) => {
      range.value = "20";
      range.dispatchEvent(new Event("input", { bubbles: true }));
    });
    await page.getByText("0:20 / 0:30").waitFor();
    assert.equal(await position.getAttribute("aria-valuetext"), "0:20 / 0:30");
    await play(page, "tone.wav").click();
    await pause(page, "tone.wav").click();
    await play(page, "tone.wav").waitFor();
    const { time } = await toState(audio);
    assert.ok(time >= 20 && time < 30, `${time}`);
    // By the keyboard: from the message to its controls.
    await page.locator(".message").focus();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Space");
    await pause(page, "tone.wav").waitFor();
    await page.keyboard.press("Tab");
    await page.locator(".file-open:focus").waitFor();
    await page.keyboard.press("Tab");
    await page.locator("input[type=range]:focus").waitFor();
    await page.keyboard.press("End");
    await play(page, "tone.wav").waitFor();
    // It begins again at the end.
    await page.waitForFunction(() => document.querySelector("audio")!.currentTime === 0);
    await opener(page, "tone.wav").click();
    await page.getByRole("dialog").getByRole("heading", { name: "tone.wav" }).waitFor();
    assert.deepEqual(guard.complaints, []);
  },

  "finds the duration of a sound that does not contain it": async (world) => {
    const { page, guard, bob, id, open } = await arrive(world);
    const bytes = new Uint8Array(SOUND);
    const at = SOUND.indexOf(DURATION);
    assert.ok(at > 0);
    // Hides the element in one that players of WebM skip.
    bytes.set([0xec, 0x85], at);
    await upload(world.server.url, bob, new File([bytes], "sound.webm", { type: "audio/webm" }), {
      conversation_id: id,
    });
    await open();
    await page.locator(".sound-line").getByText("0:00", { exact: true }).waitFor();
    const position = page.getByRole("slider", { name: "Position" });
    await position.and(page.locator(":enabled")).waitFor();
    const duration = Number(await position.getAttribute("max"));
    assert.ok(duration > 0.1 && duration < 1, `${duration}`);
    const { time } = await toState(page.locator("audio"));
    assert.equal(time, 0);
    assert.deepEqual(guard.complaints, []);
  },

  "plays video in place, and one file at a time": async (world) => {
    const { page, guard, bob, id, open } = await arrive(world);
    await sayFiles(world.server, bob, id, [
      ["tone.wav", tone(SECONDS)],
      ["other.wav", tone(SECONDS)],
      ["film.webm", FILM],
    ]);
    await open();
    const isPlaying = (at: number) =>
      page
        .locator("audio")
        .nth(at)
        .evaluate((each: HTMLMediaElement) => !each.paused);
    await play(page, "tone.wav").click();
    await pause(page, "tone.wav").waitFor();
    await play(page, "other.wav").click();
    await play(page, "tone.wav").waitFor();
    assert.deepEqual([await isPlaying(0), await isPlaying(1)], [false, true]);
    const video = page.locator("video");
    // The first frame is there before it is played.
    await page.waitForFunction(() => document.querySelector("video")!.readyState >= 2);
    assert.deepEqual(
      await video.evaluate((each: HTMLVideoElement) => [each.videoWidth, each.controls, each.paused]),
      [32, true, true],
    );
    await video.evaluate((each: HTMLVideoElement) => each.play());
    await play(page, "other.wav").waitFor();
    await page.waitForFunction(() => document.querySelector("video")!.ended);
    // Also in the viewer.
    await play(page, "tone.wav").click();
    await opener(page, "film.webm").click();
    await page
      .getByRole("dialog")
      .locator("video")
      .evaluate((each: HTMLVideoElement) => each.play());
    assert.equal(await isPlaying(0), false);
    assert.deepEqual(guard.complaints, []);
  },

  "loads only media in view, and only their beginning": async (world) => {
    const { user, page, guard, id, open } = await arrive(world);
    await sayFiles(world.server, user, id, [["above.wav", tone(SECONDS)]]);
    for (let at = 0; at < 30; at++) await say(world.server, user, id, `line ${at}`);
    await sayFiles(world.server, user, id, [["below.wav", tone(SECONDS)]]);
    await open();
    await page.getByText("0:30", { exact: true }).waitFor();
    const media = page.locator("audio");
    assert.deepEqual(await media.evaluateAll((all) => all.map((each) => each.hasAttribute("src"))), [
      false,
      true,
    ]);
    assert.deepEqual(
      await media.evaluateAll((all) => all.map((each) => (each as HTMLMediaElement).preload)),
      ["metadata", "metadata"],
    );
    await opener(page, "above.wav").scrollIntoViewIfNeeded();
    await page.waitForFunction(() => document.querySelector("audio")!.duration === 30);
    assert.deepEqual(guard.complaints, []);
  },

  "plays a file that could not be read once the server answers again": async (world) => {
    const { page, guard, bob, id, open } = await arrive(world);
    await sayFiles(world.server, bob, id, [["tone.wav", tone(SECONDS)]]);
    world.proxy.fate = (line) => (line.startsWith("GET /files/") ? "break" : "pass");
    await open();
    await page.getByText("It cannot be played.").waitFor();
    world.proxy.fate = () => "pass";
    await page.evaluate(() => dispatchEvent(new Event("online")));
    await page.getByText("It cannot be played.").waitFor({ state: "detached" });
    await play(page, "tone.wav").and(page.locator(":enabled")).waitFor();
    await page.waitForFunction(() => document.querySelector("audio")!.duration === 30);
    assert.deepEqual(guard.complaints, []);
  },

  "says which files the browser cannot play": async (world) => {
    const { page, guard, bob, id, open } = await arrive(world);
    await sayFiles(world.server, bob, id, [
      ["cut film.webm", FILM.subarray(0, 220)],
      ["cut.wav", tone(SECONDS).subarray(0, 20)],
    ]);
    await open();
    await page.getByText("It cannot be played.").first().waitFor();
    await page.locator(".film-frame .icon").waitFor();
    assert.ok(await play(page, "cut.wav").isDisabled());
    assert.deepEqual(guard.complaints, []);
  },

  "shows small pictures in their own size": async (world) => {
    const { page, guard, bob, id, open } = await arrive(world);
    const sized = (width: number, height: number) => paint(width, height, (x, y) => [x * 255, y * 255, 90]);
    await sayFiles(world.server, bob, id, [["small.png", sized(40, 30)]]);
    await sayFiles(world.server, bob, id, [["tall.png", sized(60, 600)]]);
    await sayFiles(world.server, bob, id, [["large.png", sized(900, 600)]]);
    await open();
    const fit = (name: string) =>
      opener(page, name)
        .locator("img")
        .evaluate(async (image: HTMLImageElement) => {
          await image.decode();
          await new Promise(requestAnimationFrame);
          return [getComputedStyle(image).objectFit, image.getBoundingClientRect().height];
        });
    assert.deepEqual(await fit("small.png"), ["scale-down", 168]);
    assert.deepEqual(await fit("tall.png"), ["scale-down", 168]);
    assert.deepEqual(await fit("large.png"), ["cover", 168]);
    assert.deepEqual(guard.complaints, []);
  },

  "names and sizes of files are readable on a narrow screen with a mouse": async (world) => {
    const { page, guard, bob, id, open } = await arrive(world);
    const name = "Minutes of the meeting in November.txt";
    await sayFiles(world.server, bob, id, [
      [name, "a"],
      ["Second file of the same message.txt", "a"],
      ["tone.wav", tone(SECONDS)],
      ["film.webm", FILM],
    ]);
    await sayFiles(world.server, bob, id, [["short.txt", "a"]]);
    await open();
    for (const [width, height] of [
      [390, 760],
      [1280, 800],
    ] as const) {
      await page.setViewportSize({ width, height });
      for (const each of [name, "Second file of the same message.txt"]) {
        const row = page.getByTitle(each);
        await row.hover();
        for (const part of await row.locator(".file-name, .muted").all()) {
          await assertUncovered(part);
          const isWhole = await part.evaluate(
            (text) => text.scrollWidth <= text.clientWidth + 1 && text.scrollHeight <= text.clientHeight + 1,
          );
          assert.ok(isWhole || width > 390, `${each} at ${width}`);
        }
      }
      await assertNoSidewaysScroll(page, `files at ${width}`);
      await assertAccessible(page, `files at ${width}`);
    }
    // What the buttons do is in a menu.
    await page.setViewportSize({ width: 390, height: 760 });
    await page.getByRole("button", { name: "Message actions" }).last().click();
    await page.getByRole("menuitem", { name: "Reply" }).click();
    await page.getByText("Reply to Bob").waitFor();
    assert.deepEqual(guard.complaints, []);
  },
});
