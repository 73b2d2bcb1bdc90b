// Voice messages that the composer records.
import assert from "node:assert/strict";
import { chromium, type Page } from "playwright-core";
import type { TestApp, TestUser } from "../support/app.ts";
import { shareBrowser } from "../support/engines/shared-browser.ts";
import { assertAccessible, assertNoSidewaysScroll, signOut } from "./browser.ts";
import { testScenes, testScenesIn, type World } from "./scenes.ts";
import { introduce, say } from "./talk.ts";

/** Opens a browser whose microphone beeps. */
const openListening = shareBrowser(() =>
  chromium.launch({
    executablePath: "/usr/bin/chromium-headless-shell",
    args: ["--disable-gpu", "--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream"],
  }),
);

const microphone = (page: Page) => page.getByRole("button", { name: "Record a voice message" });
const recorder = (page: Page) => page.getByRole("group", { name: /^Voice message/ });
const field = (page: Page) => page.getByRole("textbox", { name: "Message to Bob" });

interface Sent {
  reply_to_id: string | null;
  attachments: { filename: string; file_type: string; file_size: number }[];
}

async function list(server: TestApp, { headers }: TestUser, id: string): Promise<Sent[]> {
  const answer = await fetch(`${server.url}/v1/messages?conversation_id=${id}`, { headers });
  return ((await answer.json()) as { data: Sent[] }).data;
}

/** Opens a conversation. `tracks` returns the states of all microphones that the page has opened. */
async function arrive(world: World) {
  const ann = await world.arrive();
  const bob = await world.server.user();
  const id = await introduce(world.server, ann.user, bob);
  const { page } = ann;
  await page.evaluate(() => {
    const { mediaDevices } = navigator;
    const open = mediaDevices.getUserMedia.bind(mediaDevices);
    const opened: MediaStreamTrack[] = [];
    Object.assign(globalThis, { opened });
    mediaDevices.getUserMedia = async (constraints) => {
      const stream = await open(constraints);
      opened.push(...stream.getTracks());
      return stream;
    };
  });
  const tracks = () =>
    page.evaluate(() =>
      (globalThis as unknown as { opened: MediaStreamTrack[] }).opened.map(({ readyState }) => readyState),
    );
  await page.getByRole("option", { name: "Bob" }).click();
  await field(page).waitFor();
  return { ...ann, bob, id, tracks };
}

/** Begins a recording, and waits until it has lasted a second. */
async function record(page: Page): Promise<void> {
  await microphone(page).click();
  await recorder(page).getByText("Recording").waitFor();
  await recorder(page).getByText("0:01").waitFor();
}

testScenesIn(openListening, "voice messages", {
  "are recorded, sent by Enter, and played": async (world) => {
    const { page, guard, user, bob, id, tracks } = await arrive(world);
    const { id: question } = await say(world.server, bob, id, "Can you talk?");
    await page.locator(".message", { hasText: "Can you talk?" }).hover();
    await page.getByRole("button", { name: "Reply" }).click();
    await record(page);
    assert.deepEqual(await tracks(), ["live"]);
    // The level follows the sound.
    await page.waitForFunction(
      () => Number.parseFloat(document.querySelector<HTMLElement>(".voice-level span")!.style.scale) > 0.05,
    );
    await page.keyboard.press("Enter");
    await recorder(page).waitFor({ state: "detached" });
    assert.deepEqual(await tracks(), ["ended"]);
    await page.locator("textarea:focus").waitFor();
    await page.getByRole("button", { name: /^Play Voice message/ }).click();
    await page.getByRole("button", { name: /^Pause Voice message/ }).waitFor();
    await page.getByRole("button", { name: /^Play Voice message/ }).waitFor();
    const duration = await page.locator("audio").evaluate((each: HTMLMediaElement) => each.duration);
    assert.ok(duration >= 1 && duration < 60, `${duration}`);
    const [sent] = await list(world.server, user, id);
    assert.equal(sent!.reply_to_id, question);
    const [file, ...others] = sent!.attachments;
    assert.deepEqual(others, []);
    assert.match(file!.filename, /^Voice message \d{4}-\d\d-\d\d \d\d\.\d\d\.webm$/);
    assert.equal(file!.file_type, "audio/webm");
    assert.ok(file!.file_size > 1000 && file!.file_size < 1_000_000);
    assert.deepEqual(guard.complaints, []);
  },

  "wait in the outbox while the server is unreachable": async (world) => {
    const { page, guard, user, id } = await arrive(world);
    await record(page);
    world.proxy.fate = () => "break";
    await recorder(page).getByRole("button", { name: "Send" }).click();
    await page.getByText("Not sent yet, trying again").waitFor();
    assert.deepEqual(await list(world.server, user, id), []);
    world.proxy.fate = () => "pass";
    await page.getByRole("button", { name: /^Play Voice message/ }).waitFor();
    assert.equal((await list(world.server, user, id)).length, 1);
    assert.deepEqual(guard.complaints, []);
  },

  "release the microphone and send nothing when cancelled": async (world) => {
    const { page, guard, user, id, tracks } = await arrive(world);
    const ends = [
      () => page.keyboard.press("Escape"),
      () => recorder(page).getByRole("button", { name: "Cancel the recording" }).click(),
    ];
    for (const [at, end] of ends.entries()) {
      await record(page);
      await end();
      await recorder(page).waitFor({ state: "detached" });
      await field(page).and(page.locator(":focus")).waitFor();
      assert.deepEqual(await tracks(), Array(at + 1).fill("ended"));
    }
    await record(page);
    await signOut(page);
    await page.getByLabel("Access token").waitFor();
    assert.deepEqual(await tracks(), Array(3).fill("ended"));
    assert.deepEqual(await list(world.server, user, id), []);
    assert.deepEqual(guard.complaints, []);
  },

  "release the microphone if it cannot be recorded": async (world) => {
    const { page, guard, tracks } = await arrive(world);
    await page.evaluate(() => {
      AudioContext.prototype.createMediaStreamSource = () => {
        throw new DOMException("broken", "NotSupportedError");
      };
    });
    await microphone(page).click();
    await page.getByRole("alert").getByText("The microphone does not work.").waitFor();
    assert.deepEqual(await tracks(), ["ended"]);
    assert.deepEqual(guard.complaints, []);
  },

  "wait in the draft when another conversation is opened": async (world) => {
    const { page, guard, user, id, tracks } = await arrive(world);
    await record(page);
    await page.getByRole("link", { name: "Notes to self" }).click();
    await page.getByRole("textbox", { name: "Message to your notes" }).waitFor();
    assert.deepEqual(await tracks(), ["ended"]);
    await page.getByRole("option", { name: "Bob" }).click();
    await page
      .getByText(/^Voice message .*/)
      .first()
      .waitFor();
    assert.deepEqual(await list(world.server, user, id), []);
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("button", { name: /^Play Voice message/ }).waitFor();
    assert.deepEqual(guard.complaints, []);
  },

  "are not started by a second tap on Send": async (world) => {
    const { page, guard, tracks } = await arrive(world);
    const send = page.getByRole("button", { name: "Send" });
    /** Taps the microphone now, and once more when Send was a moment ago. */
    const tapTwice = async () => {
      await microphone(page).click();
      assert.equal(await recorder(page).count(), 0);
      await page.clock.runFor(500);
      await microphone(page).click();
      await recorder(page).getByText("Recording").waitFor();
    };
    await field(page).fill("hello");
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 60_000);
    await send.click();
    await tapTwice();
    await page.clock.runFor(1000);
    await send.click();
    await tapTwice();
    assert.deepEqual(await tracks(), ["ended", "live"]);
    assert.deepEqual(guard.complaints, []);
  },

  "end after a limit, and wait to be sent": async (world) => {
    const { page, guard, user, id, tracks } = await arrive(world);
    await page.clock.install();
    await record(page);
    await page.clock.fastForward("15:00");
    await recorder(page).getByText("Ended after 15 minutes").waitFor();
    assert.deepEqual(await tracks(), ["ended"]);
    await recorder(page).getByRole("button", { name: "Send" }).click();
    await page.getByRole("button", { name: /^Play Voice message/ }).waitFor();
    assert.equal((await list(world.server, user, id)).length, 1);
    assert.deepEqual(guard.complaints, []);
  },

  "are offered only in an empty field, accessibly": async (world) => {
    const { page, guard } = await arrive(world);
    const send = page.getByRole("button", { name: "Send" });
    await microphone(page).waitFor();
    assert.equal(await send.count(), 0);
    await field(page).fill("a");
    await send.waitFor();
    assert.equal(await microphone(page).count(), 0);
    await field(page).fill("");
    await record(page);
    for (const [width, height] of [
      [1280, 800],
      [390, 760],
    ] as const) {
      await page.setViewportSize({ width, height });
      await assertNoSidewaysScroll(page, `a recording at ${width}`);
      await assertAccessible(page, `a recording at ${width}`);
    }
    // By the keyboard alone.
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.getByRole("button", { name: "Send" }).and(page.locator(":focus")).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: /^Play Voice message/ }).waitFor();
    assert.deepEqual(guard.complaints, []);
  },
});

testScenes("without a microphone", {
  "the composer says so": async (world) => {
    const { page, guard } = await arrive(world);
    await microphone(page).click();
    await page.getByRole("alert").getByText("No microphone was found.").waitFor();
    await field(page).and(page.locator(":focus")).waitFor();
    await assertAccessible(page, "no microphone");
    // It gets another chance.
    await page.evaluate(() => {
      navigator.mediaDevices.getUserMedia = () =>
        Promise.reject(new DOMException("Permission denied", "NotAllowedError"));
    });
    await microphone(page).click();
    await page.getByRole("alert").getByText("Allow it for this page in your browser").waitFor();
    await page.keyboard.type("hello");
    await page.locator(".composer .failure").waitFor({ state: "detached" });
    assert.deepEqual(guard.complaints, []);
  },
});
