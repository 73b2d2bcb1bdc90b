import type { TestContext } from "node:test";
import { type BrowserContext, chromium } from "playwright-core";
import { without } from "./packages.ts";
import { shareBrowser } from "./shared-browser.ts";

/** Debian's: a browser that is downloaded would not be there everywhere. */
const CHROMIUM = "/usr/bin/chromium";

/** Why there is no browser to test with; false if there is one. */
export const noChromium = without(CHROMIUM);

/** Of several such lists Chromium reads the last, so Playwright's is repeated behind the first line. */
const DISABLED_FEATURES = [
  // The address bar has two hidden pages of its own in each window, which cost more than most of our pages.
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

export const openBrowser = shareBrowser(() => chromium.launch({ executablePath: CHROMIUM, args: FLAGS }));

/** A browser of its own with a profile in this folder, which outlives it. */
export async function openProfile(t: TestContext, folder: string): Promise<BrowserContext> {
  const opened = await chromium.launchPersistentContext(folder, { executablePath: CHROMIUM, args: FLAGS });
  t.after(() => opened.close());
  return opened;
}
