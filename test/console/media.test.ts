// Displays of pictures, sound, video and documents, and of files that are not what they claim.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { startApp, upload } from "../support/app.ts";
import { noChromium, openWholeBrowser } from "../support/engines/chromium.ts";
import { eventually } from "../support/files-on-disk.ts";
import { tone } from "../support/media-bytes.ts";
import { openFiles, openPage, signIn } from "./browser.ts";
import { PNG } from "./pictures.ts";

test("each kind of file is shown, and a broken or empty one is reported", {
  skip: noChromium,
}, async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const { page, guard } = await openPage(await openWholeBrowser(t), server.url);
  await signIn(page, server.url, user.token);
  await page.getByRole("link", { name: "Notes to self" }).click();
  await openFiles(page);
  const jpeg = await record(page, drawJpeg);
  const files: [content: BlobPart, name: string][] = [
    [pdf("Parley shows this"), "page.pdf"],
    [await record(page, recordFilm), "film.webm"],
    [tone(2), "tone.wav"],
    [PNG, "dot.png"],
    [jpeg, "whole.jpg"],
    [jpeg.subarray(0, Math.floor(jpeg.length / 3)), "cut.jpg"],
    [jpeg.subarray(0, 500), "head.jpg"],
    ["", "empty.txt"],
  ];
  for (const [content, name] of files) {
    assert.equal((await upload(server.url, user, new File([content], name))).status, 201, name);
  }
  const dialog = page.getByRole("dialog");
  const look = async (name: string, see: () => Promise<unknown>) => {
    await page.getByRole("button", { name: `Open ${name}` }).click();
    await see();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  };
  const plays = (kind: "audio" | "video") => dialog.locator(kind).evaluate(playsOn);
  await look("film.webm", async () => assert.deepEqual(await plays("video"), { width: 64, played: true }));
  await look("tone.wav", async () => assert.deepEqual(await plays("audio"), { width: 0, played: true }));
  for (const [name, width] of [
    ["dot.png", 4],
    ["whole.jpg", 400],
  ] as const) {
    await look(name, async () => {
      const image = dialog.getByRole("img", { name });
      await image.waitFor();
      assert.equal(await image.evaluate(decodedWidth), width);
      assert.equal(await dialog.locator(".stage-none, .stage-note").count(), 0);
    });
  }
  await look("cut.jpg", () => dialog.getByText("The picture is incomplete.").waitFor());
  await look("head.jpg", () => dialog.getByText("This browser cannot show the file.").waitFor());
  await look("empty.txt", () => dialog.getByText("The file is empty.").waitFor());
  await look("page.pdf", () => viewerShows(page, [170, 40, 90]));
  assert.deepEqual(guard.complaints, []);
});

/** Runs in the page. Returns whether the element plays, and its width. */
async function playsOn(element: HTMLMediaElement): Promise<{ width: number; played: boolean }> {
  element.muted = true;
  await element.play();
  while (element.currentTime === 0 && !element.error) await new Promise(requestAnimationFrame);
  const width = element instanceof HTMLVideoElement ? element.videoWidth : 0;
  return { width, played: element.currentTime > 0 };
}

async function decodedWidth(image: HTMLImageElement): Promise<number> {
  await image.decode();
  return image.naturalWidth;
}

/** Returns the bytes that a function in the page makes. */
async function record(page: Page, make: () => Promise<string>): Promise<Buffer<ArrayBuffer>> {
  return Buffer.from(await page.evaluate(make), "base64");
}

/** Runs in the page. Makes a short video of 64 by 48 in the browser. */
async function recordFilm(): Promise<string> {
  const canvas = document.createElement("canvas");
  canvas.width = 64;
  canvas.height = 48;
  const context = canvas.getContext("2d")!;
  const parts: Blob[] = [];
  const recorder = new MediaRecorder(canvas.captureStream(25), { mimeType: "video/webm" });
  recorder.ondataavailable = ({ data }) => parts.push(data);
  const stopped = new Promise((resolve) => {
    recorder.onstop = resolve;
  });
  recorder.start();
  for (let i = 0; i < 12; i++) {
    context.fillStyle = `hsl(${i * 30} 70% 50%)`;
    context.fillRect(0, 0, 64, 48);
    await new Promise((resolve) => setTimeout(resolve, 40));
  }
  recorder.stop();
  await stopped;
  const bytes = new Uint8Array(await new Blob(parts).arrayBuffer());
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

/** Runs in the page. Makes a detailed JPEG of 400 by 300. */
async function drawJpeg(): Promise<string> {
  const canvas = document.createElement("canvas");
  canvas.width = 400;
  canvas.height = 300;
  const context = canvas.getContext("2d")!;
  for (let i = 0; i < 300; i++) {
    context.fillStyle = `hsl(${(i * 47) % 360} 80% 50%)`;
    context.fillRect((i * 61) % 400, (i * 37) % 300, 40, 30);
  }
  return canvas.toDataURL("image/jpeg").split(",")[1]!;
}

/** Returns a page whose upper half has the colour 170, 40, 90, with a line of text below. */
function pdf(line: string): Buffer<ArrayBuffer> {
  const drawing = `0.667 0.157 0.353 rg 0 200 400 200 re f BT /F1 24 Tf 40 100 Td (${line}) Tj ET`;
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 400 400] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
    `<< /Length ${drawing.length} >>\nstream\n${drawing}\nendstream`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
  ];
  let text = "%PDF-1.4\n";
  const offsets = objects.map((object, index) => {
    const at = text.length;
    text += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return at;
  });
  const table = offsets.map((at) => `${String(at).padStart(10, "0")} 00000 n \n`).join("");
  const size = objects.length + 1;
  const xref = `xref\n0 ${size}\n0000000000 65535 f \n${table}`;
  const end = `trailer\n<< /Size ${size} /Root 1 0 R >>\nstartxref\n${text.length}\n%%EOF\n`;
  return Buffer.from(text + xref + end, "latin1");
}

/** Waits until the PDF viewer has drawn this colour. The page cannot look inside the viewer. */
async function viewerShows(page: Page, color: readonly number[]): Promise<void> {
  const frame = page.locator("iframe.stage-pdf");
  await frame.waitFor();
  const isShown = async () => {
    const picture = (await frame.screenshot()).toString("base64");
    return page.evaluate(hasColor, { picture, color });
  };
  assert.ok(await eventually(isShown), "the viewer does not show the page");
}

/** Runs in the page. Returns whether many pixels of a PNG have nearly this colour. */
async function hasColor({ picture, color }: { picture: string; color: readonly number[] }): Promise<boolean> {
  const bytes = Uint8Array.from(atob(picture), (char) => char.charCodeAt(0));
  const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  const context = canvas.getContext("2d")!;
  context.drawImage(bitmap, 0, 0);
  const { data } = context.getImageData(0, 0, bitmap.width, bitmap.height);
  let count = 0;
  for (let i = 0; i < data.length; i += 4) {
    if (color.every((value, at) => Math.abs(value - data[i + at]!) < 12)) count++;
  }
  return count > 1000;
}
