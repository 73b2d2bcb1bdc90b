import type { TestContext } from "node:test";
import { type BrowserContext, chromium } from "playwright-core";
import { without } from "./packages.ts";
import { shareBrowser } from "./shared-browser.ts";

/** Debian's packages, because downloads are not available everywhere. */
const CHROMIUM = "/usr/bin/chromium";
/** It has no window around the page, which takes a quarter of the CPU time of our tests. */
const SHELL = "/usr/bin/chromium-headless-shell";

/** Why there is no browser to test with; false if there is one. */
export const noChromium = without(CHROMIUM) || without(SHELL);

/** Chromium reads only the last list of disabled features, so Playwright's list is repeated after the first line. */
const DISABLED_FEATURES = [
  // Two hidden pages for each window's address bar, which use more memory than most of our pages.
  ...["WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup"],
  ...["AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades"],
  ...["HttpsFirstBalancedModeAutoEnable", "LensOverlay", "MediaRouter", "PaintHolding"],
  ...["ThirdPartyStoragePartitioning", "AvoidCorsURLLoaderRestartOnRedirect", "OptimizationHints"],
  ...["NetworkTimeServiceQuerying", "AimEnabled", "PreconnectToSearch"],
];

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  `--disable-features=${DISABLED_FEATURES}`,
];

export const openBrowser = shareBrowser(() =>
  chromium.launch({ executablePath: SHELL, args: ["--disable-gpu"] }),
);

/** Opens a browser that also shows notifications and PDF. */
export const openWholeBrowser = shareBrowser(() =>
  chromium.launch({ executablePath: CHROMIUM, args: FLAGS }),
);

/** Opens a separate browser with a profile in this folder, which outlives the browser. */
export async function openProfile(t: TestContext, folder: string): Promise<BrowserContext> {
  const opened = await chromium.launchPersistentContext(folder, { executablePath: CHROMIUM, args: FLAGS });
  t.after(() => opened.close());
  return opened;
}
