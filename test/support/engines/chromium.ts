import { without } from "./packages.ts";

/** Debian's: a browser that is downloaded would not be there everywhere. */
export const CHROMIUM = "/usr/bin/chromium";

/** Why there is no browser to test with; false if there is one. */
export const noChromium = without(CHROMIUM);
