// The chat in ten lines of HTML, started by its command.
import assert from "node:assert/strict";
import { test } from "node:test";
import { noChromium } from "../support/engines/chromium.ts";
import { openPage, startExample } from "./example.ts";

test("the embedded chat starts with one command: two users write to each other", {
  skip: noChromium,
}, async (t) => {
  const errors: string[] = [];
  const links = await startExample(t, "embed", ["Ada", "Bob"]);
  const [ada, bob] = [await openPage(t, links[0]!, errors), await openPage(t, links[1]!, errors)];
  await ada.getByRole("option", { name: "bob" }).click();
  await ada.locator(".message", { hasText: "Hello Ada" }).waitFor();
  await bob.getByRole("option", { name: "ada" }).click();
  await ada.keyboard.type("Hello Bob");
  await ada.keyboard.press("Enter");
  await bob.locator(".message", { hasText: "Hello Bob" }).waitFor();
  assert.deepEqual(errors, []);
});
