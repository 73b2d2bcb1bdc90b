// The viewer: zoom, steps, text and actions.
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { eventually } from "../support/files-on-disk.ts";
import { assertAccessible, assertNoSidewaysScroll, focused, openFiles } from "./browser.ts";
import { listNames, numbered, opener, openNotes, send } from "./in-files.ts";
import { paint } from "./pictures.ts";
import { testScenes } from "./scenes.ts";
import { introduce, say, sayFiles, toUsername } from "./talk.ts";

const PICTURE = paint(1200, 900, (x, y) => [x * 255, y * 255, 90]);
const dialog = (page: Page) => page.getByRole("dialog");
const heading = (page: Page, name: string) => dialog(page).getByRole("heading", { name, exact: true });

interface Shown {
  scale: number;
  x: number;
  y: number;
}

/** Returns the size and position of the picture. */
async function toShown(page: Page): Promise<Shown> {
  return dialog(page)
    .getByRole("img")
    .evaluate((image) => {
      const { a, e, f } = new DOMMatrix(getComputedStyle(image).transform);
      return { scale: a, x: e, y: f };
    });
}

async function waitShown(page: Page, isRight: (shown: Shown) => boolean): Promise<Shown> {
  let shown = await toShown(page);
  const isReached = await eventually(async () => {
    shown = await toShown(page);
    return isRight(shown);
  });
  assert.ok(isReached, `${JSON.stringify(shown)}: ${isRight}`);
  return shown;
}

async function openPicture(page: Page) {
  await openNotes(page);
  await opener(page, "map.png").click();
  const image = dialog(page).getByRole("img", { name: "map.png" });
  await image.evaluate((img: HTMLImageElement) => img.decode());
  const box = (await dialog(page).locator(".stage").boundingBox())!;
  return { x: box.x + box.width / 2, y: box.y + box.height / 2, width: box.width, height: box.height };
}

testScenes("the viewer", {
  "zooms a picture by wheel, keys, buttons and double click, and pans it": async ({ server, arrive }) => {
    const { page, guard } = await arrive((user) =>
      send(server, user, [
        ["map.png", PICTURE],
        ["next.txt", "next"],
      ]),
    );
    const middle = await openPicture(page);
    assert.deepEqual(await toShown(page), { scale: 1, x: 0, y: 0 });
    await page.keyboard.press("+");
    await waitShown(page, ({ scale, x }) => scale === 1.5 && x === 0);
    await page.keyboard.press("-");
    await waitShown(page, ({ scale }) => scale === 1);
    // Never smaller than the stage.
    await page.keyboard.press("-");
    await page.getByRole("button", { name: "Zoom in (+)" }).click();
    await waitShown(page, ({ scale }) => scale === 1.5);
    await page.getByText("150%").click();
    await waitShown(page, ({ scale }) => scale === 1);
    // The point under the pointer stays in place.
    await page.mouse.move(middle.x + 100, middle.y - 50);
    await page.mouse.wheel(0, -400);
    await waitShown(page, ({ scale, x, y }) => scale > 1.5 && x < -50 && y > 20);
    await page.mouse.dblclick(middle.x, middle.y);
    await waitShown(page, ({ scale, x }) => scale === 1 && x === 0);
    await page.mouse.dblclick(middle.x, middle.y);
    await waitShown(page, ({ scale }) => scale === 3);
    await page.mouse.move(middle.x, middle.y);
    await page.mouse.down();
    await page.mouse.move(middle.x + 70, middle.y + 30, { steps: 4 });
    await page.mouse.up();
    await waitShown(page, ({ x, y }) => x === 70 && y === 30);
    // A button released outside must not keep dragging.
    await page.keyboard.press("0");
    await waitShown(page, ({ scale }) => scale === 1);
    await page.mouse.move(middle.x, middle.y);
    await page.mouse.down();
    await page.mouse.move(2, 2);
    await page.mouse.up();
    for (let i = 0; i < 3; i++) await page.keyboard.press("+");
    await waitShown(page, ({ scale, x }) => scale > 3 && x === 0);
    await page.mouse.move(middle.x, middle.y);
    await page.mouse.down();
    await page.mouse.move(middle.x + 70, middle.y + 30, { steps: 4 });
    await page.mouse.up();
    await waitShown(page, ({ x, y }) => x === 70 && y === 30);
    // Arrow keys pan too, but not beyond the stage.
    await page.keyboard.press("ArrowRight");
    await waitShown(page, ({ x }) => x === -10);
    for (let i = 0; i < 30; i++) await page.keyboard.press("ArrowLeft");
    const { x } = await toShown(page);
    assert.ok(x > 100 && x < middle.width * 1.5, `${x} of ${middle.width}`);
    await heading(page, "map.png").waitFor();
    await page.keyboard.press("0");
    await page.keyboard.press("ArrowLeft");
    await heading(page, "next.txt").waitFor();
    assert.deepEqual(guard.complaints, []);
  },

  "steps through the files by keys, and returns the focus to the last one": async ({ server, arrive }) => {
    const { page, guard } = await arrive((user) => send(server, user, numbered(70)));
    await openNotes(page);
    await page.getByText(/^70 files/).waitFor();
    await page.getByLabel("Sort files").selectOption("Name");
    await opener(page, "2.txt").click();
    const at = (position: string) => dialog(page).getByText(position, { exact: true }).waitFor();
    await at("3 of 70");
    await page.keyboard.press("ArrowLeft");
    await heading(page, "1.txt").waitFor();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await heading(page, "3.txt").waitFor();
    await at("4 of 70");
    await page.keyboard.press("Home");
    await at("1 of 70");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("End");
    await heading(page, "69.txt").waitFor();
    await at("70 of 70");
    await dialog(page).getByRole("button", { name: "Previous" }).click();
    await dialog(page).getByText("text 68").waitFor();
    await page.keyboard.press("Escape");
    await dialog(page).waitFor({ state: "detached" });
    await opener(page, "68.txt").and(focused(page)).waitFor();
    assert.ok(
      await opener(page, "68.txt").evaluate((button) => {
        const { top, bottom } = button.getBoundingClientRect();
        return top > 0 && bottom < innerHeight;
      }),
    );
    assert.deepEqual(guard.complaints, []);
  },

  "without a PDF viewer a PDF is described, and downloaded only on request": async ({ server, arrive }) => {
    const { page, guard } = await arrive((user) => send(server, user, [["report.pdf", "%PDF-1.4\n"]]));
    const downloads: string[] = [];
    page.on("download", (download) => downloads.push(download.suggestedFilename()));
    await openNotes(page);
    await opener(page, "report.pdf").click();
    const card = dialog(page).locator(".stage-none");
    await card.getByText("report.pdf · 9 bytes").waitFor();
    assert.equal(await page.evaluate(() => navigator.pdfViewerEnabled), false);
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 800 });
      await assertAccessible(page, `a PDF that the browser does not show, ${width}`);
      await assertNoSidewaysScroll(page, `a PDF that the browser does not show, ${width}`);
    }
    assert.deepEqual(downloads, []);
    const download = page.waitForEvent("download");
    await card.getByRole("link", { name: "Download" }).click();
    assert.equal((await download).suggestedFilename(), "report.pdf");
    assert.deepEqual(guard.complaints, []);
  },

  "shows code and Markdown as text, with or without wrapping": async ({ server, arrive }) => {
    const long = `<b onclick="alert(1)">${"long ".repeat(400)}</b>`;
    const { page, guard } = await arrive((user) =>
      send(server, user, [
        ["zip.md", "PK\u0003\u0004\0\0"],
        ["page.html", long],
        ["notes.md", `# Title\n\n**${long}**`],
        ["main.ts", `const a = "${long}";`],
        ["run.sh", `#!/bin/sh\necho '${long}'`],
      ]),
    );
    await openNotes(page);
    const text = dialog(page).locator(".stage-text");
    const isWide = () => text.evaluate((box) => box.scrollWidth > box.clientWidth);
    for (const name of ["run.sh", "main.ts", "notes.md", "page.html"]) {
      await opener(page, name).click();
      await text.getByText(long).waitFor();
      assert.match(await text.evaluate((box) => getComputedStyle(box).fontFamily), /monospace/);
      assert.equal(await text.locator("b").count(), 0);
      assert.equal(await isWide(), false);
      await page.keyboard.press("Escape");
      await dialog(page).waitFor({ state: "detached" });
    }
    await opener(page, "main.ts").click();
    const wrap = dialog(page).getByRole("button", { name: "Wrap lines", pressed: true });
    await wrap.click();
    await wrap.waitFor({ state: "detached" });
    assert.equal(await isWide(), true);
    await assertAccessible(page, "a text whose lines are not wrapped");
    await page.keyboard.press("Escape");
    // The setting is remembered.
    await opener(page, "notes.md").click();
    await text.getByText(long).waitFor();
    assert.equal(await isWide(), true);
    await page.keyboard.press("Escape");
    await opener(page, "zip.md").click();
    await dialog(page).getByText("There is no preview for this type of file.").waitFor();
    assert.deepEqual(guard.complaints, []);
  },

  "renames, downloads and deletes a file, then shows the next": async ({ server, arrive }) => {
    const { user, page, guard } = await arrive((user) => send(server, user, numbered(3)));
    await openNotes(page);
    await opener(page, "2.txt").click();
    await dialog(page)
      .getByText(/^Today, /)
      .waitFor();
    await dialog(page).getByText("TXT text").waitFor();
    await dialog(page).getByRole("button", { name: "Rename" }).click();
    await page.keyboard.type("two");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await heading(page, "two.txt").waitFor();
    await dialog(page).getByRole("button", { name: "Rename" }).and(focused(page)).waitFor();
    assert.deepEqual(await listNames(server, user), ["two.txt", "1.txt", "0.txt"]);
    const begun = page.waitForEvent("download");
    await dialog(page).getByRole("link", { name: "Download two.txt" }).click();
    assert.equal((await begun).suggestedFilename(), "two.txt");
    const question = dialog(page).filter({ hasText: "Delete this file?" });
    for (const next of ["1.txt", "0.txt"]) {
      await dialog(page).getByRole("button", { name: "Delete" }).click();
      // Keys belong to the confirmation, not to the file below.
      await question.waitFor();
      await page.keyboard.press("ArrowRight");
      await question.getByRole("button", { name: "Delete" }).click();
      await question.waitFor({ state: "detached" });
      await heading(page, next).waitFor();
      await dialog(page)
        .getByText(`1 of ${next === "1.txt" ? 2 : 1}`)
        .waitFor();
    }
    await dialog(page).getByRole("button", { name: "Delete" }).click();
    await question.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { name: "Drop files here" }).waitFor();
    await page.locator(".files:focus").waitFor();
    assert.deepEqual(await listNames(server, user), []);
    assert.deepEqual(guard.complaints, []);
  },

  "shows the sender and only possible actions, in both tabs": async ({ server, arrive }) => {
    const { user, page, guard } = await arrive();
    const bob = await server.user();
    const conversation_id = await introduce(server, user, bob);
    await say(server, bob, conversation_id, "Look");
    await send(server, bob, [["theirs.txt", "a"]], { conversation_id });
    await send(server, user, [["mine.txt", "a"]], { conversation_id });
    await page.getByRole("option", { name: "Bob" }).click();
    for (const tab of ["messages", "files"]) {
      if (tab === "files") await openFiles(page);
      for (const [name, count] of [
        ["theirs.txt", 0],
        ["mine.txt", 2],
      ] as const) {
        await page.getByRole("button", { name: `Open ${name}` }).click();
        await dialog(page).getByRole("button", { name: "Copy link" }).waitFor();
        assert.equal(
          await dialog(page)
            .getByRole("button", { name: /^(Rename|Delete)$/ })
            .count(),
          count,
        );
        const sender = await dialog(page).locator(".stage-about strong").textContent();
        assert.equal(sender, count === 0 ? "Bob" : tab === "files" ? "You" : await toUsername(server, user));
        // Messages are read from the top, and the list of files begins with the newest.
        const isFirst = (tab === "messages") === (count === 0);
        await dialog(page)
          .getByText(isFirst ? "1 of 2" : "2 of 2")
          .waitFor();
        await page.keyboard.press("Escape");
        await dialog(page).waitFor({ state: "detached" });
      }
    }
    assert.deepEqual(guard.complaints, []);
  },

  "steps from a message to the files below it in the conversation": async ({ server, arrive }) => {
    const { user, page, guard } = await arrive();
    const bob = await server.user();
    const id = await introduce(server, user, bob);
    await sayFiles(server, bob, id, [["0.txt", "0"]]);
    // Older pages are loaded on the way back, and newer ones on the way down.
    for (let at = 0; at < 60; at++) await say(server, bob, id, `line ${at}`);
    await sayFiles(server, bob, id, [
      ["1.png", PICTURE],
      ["2.png", PICTURE],
      ["3.png", PICTURE],
    ]);
    await say(server, bob, id, "in between");
    await sayFiles(server, user, id, [["4.txt", "4"]]);
    await page.getByRole("option", { name: "Bob" }).click();
    await opener(page, "1.png").click();
    await dialog(page).getByText("2 of 5").waitFor();
    for (const name of ["2.png", "3.png", "4.txt"]) {
      await page.keyboard.press("ArrowRight");
      await heading(page, name).waitFor();
    }
    await dialog(page).getByRole("button", { name: "Next", disabled: true }).waitFor();
    await dialog(page).getByText("5 of 5").waitFor();
    for (let at = 0; at < 4; at++) await page.keyboard.press("ArrowLeft");
    await heading(page, "0.txt").waitFor();
    await page.keyboard.press("Escape");
    await dialog(page).waitFor({ state: "detached" });
    // The messages have followed.
    assert.ok(
      await page.getByTitle("0.txt").evaluate((file) => {
        const { top, bottom } = file.getBoundingClientRect();
        return top > 0 && bottom < innerHeight;
      }),
    );
    assert.deepEqual(guard.complaints, []);
  },

  "steps over hundreds of messages without files, in both directions": async ({ server, arrive }) => {
    const { page, guard } = await arrive(async (user) => {
      const bob = await server.user();
      const id = await introduce(server, user, bob);
      const fill = async () => {
        for (let at = 0; at < 410; at++) await say(server, user, id, `line ${at}`);
      };
      await sayFiles(server, bob, id, [
        ["1.txt", "1"],
        ["2.txt", "2"],
      ]);
      await fill();
      await sayFiles(server, bob, id, [
        ["3.txt", "3"],
        ["4.txt", "4"],
      ]);
      await fill();
      await sayFiles(server, bob, id, [["5.txt", "5"]]);
    });
    await page.getByRole("option", { name: "Bob" }).click();
    await page.getByTitle("5.txt").click();
    for (const name of ["4.txt", "3.txt", "2.txt", "1.txt"]) {
      await dialog(page).getByRole("button", { name: "Previous", disabled: false }).click();
      await heading(page, name).waitFor();
    }
    for (const name of ["2.txt", "3.txt", "4.txt", "5.txt"]) {
      await dialog(page).getByRole("button", { name: "Next", disabled: false }).click();
      await heading(page, name).waitFor();
    }
    await dialog(page).getByRole("button", { name: "Next", disabled: true }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByTitle("5.txt").waitFor();
    assert.deepEqual(guard.complaints, []);
  },

  "steps and zooms by touch on a phone": async ({ server, arrive }) => {
    const { page, guard } = await arrive((user) =>
      send(server, user, [
        ["first.txt", "first"],
        ["map.png", PICTURE],
      ]),
    );
    await page.setViewportSize({ width: 390, height: 760 });
    const { x, y } = await openPicture(page);
    const touch = await page.context().newCDPSession(page);
    await touch.send("Emulation.setTouchEmulationEnabled", { enabled: true, maxTouchPoints: 2 });
    type Points = [number, number][];
    const drag = async (...moves: Points[]) => {
      for (const [at, points] of moves.entries())
        await touch.send("Input.dispatchTouchEvent", {
          type: at === 0 ? "touchStart" : "touchMove",
          touchPoints: points.map(([x, y], id) => ({ x, y, id })),
        });
      await touch.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
    };
    await assertNoSidewaysScroll(page, "the viewer on a phone");
    await assertAccessible(page, "the viewer on a phone");
    for (const button of await dialog(page).locator(".stage-foot :is(button, a)").all()) {
      const { width, height } = (await button.boundingBox())!;
      assert.ok(width >= 44 && height >= 44, `${await button.ariaSnapshot()}: ${width} by ${height}`);
    }
    const apart = (by: number): Points => [
      [x - by, y],
      [x + by, y],
    ];
    await drag(apart(20), apart(40), apart(60));
    await waitShown(page, ({ scale }) => scale > 2.5 && scale < 3.5);
    // A swipe now pans instead of stepping.
    await drag([[x, y]], [[x - 40, y]], [[x - 90, y]]);
    await waitShown(page, ({ x }) => x < -60);
    await drag(apart(100), apart(60), apart(20));
    await waitShown(page, ({ scale }) => scale === 1);
    await heading(page, "map.png").waitFor();
    await drag([[x, y]], [[x - 50, y]], [[x - 120, y]]);
    await heading(page, "first.txt").waitFor();
    await dialog(page).getByText("first", { exact: true }).waitFor();
    await drag([[x, y]], [[x + 50, y + 4]], [[x + 120, y + 8]]);
    await heading(page, "map.png").waitFor();
    assert.deepEqual(guard.complaints, []);
  },
});
