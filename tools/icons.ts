// Draws the icons of the installed console from console/src/icon.svg, in Chromium. Usage: npm run icons
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const CONSOLE = new URL("../console/", import.meta.url);
const svg = readFileSync(new URL("src/icon.svg", CONSOLE), "utf8");
/** Launchers crop maskable icons themselves, so the background must not have rounded corners. */
const square = svg.replace('rx="9" ', "");

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  for (const [name, drawing, size] of [
    ["icon-192", svg, 192],
    ["icon-512", svg, 512],
    ["icon-maskable", square, 512],
  ] as const) {
    const page = await browser.newPage({ viewport: { width: size, height: size } });
    await page.setContent(`<style>body { margin: 0 } svg { display: block }</style>${drawing}`);
    const path = fileURLToPath(new URL(`public/${name}.png`, CONSOLE));
    await page.screenshot({ path, omitBackground: true });
  }
} finally {
  await browser.close();
}
