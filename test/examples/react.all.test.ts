// The React example, started by its command. test/sync/react.all.test.ts has its details.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { noChromium } from "../support/engines/chromium.ts";
import { checkAccessibility, openPage, startExample } from "./example.ts";

test("a view with inbox, conversation, composer and typing takes at most 40 lines", async () => {
  const view = await readFile(new URL("../../examples/react/view.tsx", import.meta.url), "utf8");
  assert.ok(view.trimEnd().split("\n").length <= 40);
});

test("the React example starts with one command: two users write to each other, also after a time offline", {
  skip: noChromium,
}, async (t) => {
  const errors: string[] = [];
  const links = await startExample(t, "react", ["Ada", "Bob"]);
  const [ada, bob] = [await openPage(t, links[0]!, errors), await openPage(t, links[1]!, errors)];
  await ada.getByRole("heading", { name: "Inbox (1)" }).waitFor();
  await ada.getByRole("button", { name: "bob Hello Ada" }).click();
  await ada.getByRole("log").getByText("Hello Ada").waitFor();
  await ada.getByRole("heading", { name: "Inbox (0)" }).waitFor();
  await bob.getByRole("button", { name: "ada Hello Ada" }).click();
  await ada.getByLabel("Message").pressSequentially("Hello Bob");
  await bob.getByText("typing…").waitFor();
  await ada.getByLabel("Message").press("Enter");
  await bob.getByRole("log").getByText("Hello Bob").waitFor();
  await checkAccessibility(ada);

  await bob.context().setOffline(true);
  for (const text of ["one", "two"]) {
    await bob.getByLabel("Message").fill(text);
    await bob.getByLabel("Message").press("Enter");
  }
  await bob.getByRole("article").filter({ hasText: "two" }).getByText("waiting").waitFor();
  await bob.context().setOffline(false);
  await ada.getByRole("log").getByText("two").waitFor();
  const texts = await ada.getByRole("article").allTextContents();
  assert.deepEqual(
    texts.map((text) => text.replace(/👍 0$/, "")),
    ["bob Hello Ada", "ada Hello Bob", "bob one", "bob two"],
  );
  assert.deepEqual(errors, []);
});
