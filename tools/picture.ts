// Records docs/pictures/hello.webp, in which two people write to each other on the page /hello of `parley dev`, and its
// last frame for readers who want no motion. Usage: npm run picture
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { chromium, type Locator, type Page } from "playwright-core";
import sharp from "sharp";

const ROOT = join(import.meta.dirname, "..");
/** Debian has no other font of emoji beside its browsers. */
const EMOJI = "/usr/lib/firefox-esr/fonts/TwemojiMozilla.ttf";
const [ADA, BOB] = ["Ada Lovelace", "Bob Stone"] as const;
const PAIR_OF_LETTERS_MS = 110;
const STEP_MS = 900;
const END_MS = 2500;
/** What arrives after a message: read marks, and a picture that moves the list. */
const SETTLE_MS = 600;

/** What Bob sends. */
const MAP = `<svg xmlns="http://www.w3.org/2000/svg" width="640" height="428">
  <rect width="640" height="428" fill="#dcebd0"/>
  <path d="M0 290 Q160 230 320 300 T640 270 V428 H0Z" fill="#a9cfe8"/>
  <path d="M70 150 Q180 60 270 160 T440 170 T580 110" fill="none" stroke="#d2503c" stroke-width="9"
    stroke-dasharray="20 14" stroke-linecap="round"/>
  <circle cx="70" cy="150" r="18" fill="#d2503c"/>
</svg>`;

const look = () => `
  @font-face { font-family: Emoji; src: url(data:font/ttf;base64,${readFileSync(EMOJI, "base64")}) }
  :root { font-family: Liberation Sans; --parley-font: Liberation Sans, Emoji }
  header, section { display: none }
  body { padding: 12px 12px 0 }
  main { margin: 0; gap: 16px }`;

/** Starts `parley dev`. Returns the address of its page, and a function that ends it. */
async function startDev(): Promise<{ address: string; stop: () => Promise<unknown> }> {
  const dev = spawn(join(ROOT, "bin/parley"), ["dev"], {
    env: { ...process.env, PARLEY_PORT: "0" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const stop = () => {
    dev.kill();
    return once(dev, "close");
  };
  let printed = "";
  for await (const chunk of dev.stdout.iterator({ destroyOnReturn: false })) {
    printed += chunk;
    const [address] = /http\S+\/hello/.exec(printed) ?? [];
    if (address) return { address, stop };
  }
  throw new Error("parley dev ended");
}

/** Takes the frames of the picture. `delays` says how long each is shown. */
class Film {
  readonly frames: Buffer[] = [];
  readonly delays: number[] = [];
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  async take(ms: number): Promise<void> {
    this.frames.push(await this.#page.screenshot({ animations: "disabled" }));
    this.delays.push(ms);
  }

  /** Waits until both people see something. */
  async takeSeen(found: Locator, ms: number): Promise<void> {
    await found.nth(1).waitFor();
    await sleep(SETTLE_MS);
    await this.take(ms);
  }

  async write(to: string, text: string): Promise<void> {
    const field = this.#page.getByRole("textbox", { name: `Message to ${to}` });
    for (const pair of text.match(/..?/g)!) {
      await field.pressSequentially(pair);
      await this.#page.getByText("is typing…").waitFor();
      await this.take(PAIR_OF_LETTERS_MS);
    }
    await field.press("Enter");
    await this.takeSeen(this.#page.locator(".message", { hasText: text }), STEP_MS);
  }
}

async function record(page: Page): Promise<Film> {
  const film = new Film(page);
  // A pane has the name of the other person.
  const [ofAda, ofBob] = [BOB, ADA].map((name) => page.getByRole("region", { name })) as [Locator, Locator];
  const map = {
    name: "map.png",
    mimeType: "image/png",
    buffer: await sharp(Buffer.from(MAP)).png().toBuffer(),
  };
  await sleep(SETTLE_MS);
  await film.take(STEP_MS);
  await film.write(BOB, "Lovely! Where do we start?");
  await ofBob.locator("input[type=file]").setInputFiles(map);
  await film.write(ADA, "At the red dot, at nine.");
  const answer = ofAda.locator(".message").last();
  await answer.hover();
  await answer.getByRole("button", { name: "React" }).click();
  await film.take(STEP_MS / 2);
  await answer.getByRole("button", { name: "👍" }).click();
  // The buttons of the message close.
  await page.mouse.move(0, 0);
  await ofAda.getByRole("textbox").focus();
  await film.takeSeen(page.getByRole("button", { name: "👍 1 reaction" }), END_MS);
  return film;
}

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium-headless-shell" });
const { address, stop } = await startDev();
try {
  const page = await browser.newPage({
    viewport: { width: 800, height: 500 },
    deviceScaleFactor: 2,
    colorScheme: "light",
    bypassCSP: true,
  });
  await page.goto(address);
  await page.addStyleTag({ content: look() });
  const { frames, delays } = await record(page);
  const to = (name: string) => join(ROOT, "docs/pictures", name);
  const options = { quality: 80, effort: 6 };
  await sharp(frames, { join: { animated: true } })
    .webp({ ...options, delay: delays, loop: 0, minSize: true, mixed: true })
    .toFile(to("hello.webp"));
  await sharp(frames.at(-1)).webp(options).toFile(to("hello-still.webp"));
} finally {
  await browser.close();
  await stop();
}
