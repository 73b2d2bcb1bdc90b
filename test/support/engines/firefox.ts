import { type Browser, firefox } from "playwright-core";
import { without } from "./packages.ts";
import { shareBrowser } from "./shared-browser.ts";

/** Debian's package. Playwright's Firefox is a patched build that must be downloaded. */
const FIREFOX = "/usr/bin/firefox-esr";

/** Why there is no Firefox to test with; false if there is one. */
export const noFirefox = without(FIREFOX);

const PREFERENCES = {
  // Reports a mouse that can hover (bits 2 and 4). Without a screen Firefox reports none.
  "ui.primaryPointerCapabilities": 6,
  "ui.allPointerCapabilities": 6,
  // WebDriver BiDi cannot emulate this.
  "ui.prefersReducedMotion": 1,
  // Lets tests read the clipboard without a prompt.
  "dom.events.testing.asyncClipboard": true,
  // Keeps half a MB of a film (in KB), so that a short film is requested in ranges, like a long one.
  "media.cache_size": 512,
  "media.memory_cache_max_size": 0,
  "media.cache_readahead_limit": 1,
};

/** The part of Playwright that talks to the browser, in this process. */
interface Inner {
  _connection: { toImpl(browser: Browser): { _browserSession: { send: Send } } };
}
type Send = (method: string, params: object) => Promise<unknown>;

/** Playwright sends this for each context and requires an answer, but Firefox ESR does not support it. */
const UNKNOWN = "emulation.setMediaFeaturesOverride";

function skipUnknown(browser: Browser): Browser {
  const session = (browser as unknown as Inner)._connection.toImpl(browser)._browserSession;
  const send = session.send.bind(session);
  session.send = async (method, params) => (method === UNKNOWN ? {} : send(method, params));
  return browser;
}

/** Drives an unpatched Firefox by WebDriver BiDi, which the channel selects. */
export const openFirefox = shareBrowser(async () =>
  skipUnknown(
    await firefox.launch({
      channel: "moz-firefox",
      executablePath: FIREFOX,
      firefoxUserPrefs: PREFERENCES,
    }),
  ),
);
