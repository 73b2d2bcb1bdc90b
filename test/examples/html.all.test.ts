// The page without a build, started by its command.
import assert from "node:assert/strict";
import { test } from "node:test";
import { noChromium } from "../support/engines/chromium.ts";
import { checkAccessibility, openPage, startExample } from "./example.ts";

test("the plain page starts with one command: two users write to each other, and nothing is lost by a reload", {
  skip: noChromium,
}, async (t) => {
  const errors: string[] = [];
  const links = await startExample(t, "html", ["Ada", "Bob"]);
  // Browsers ask for it, and the example does not have it.
  assert.equal((await fetch(new URL("/favicon.ico", links[0]))).status, 404);
  const [ada, bob] = [await openPage(t, links[0]!, errors), await openPage(t, links[1]!, errors)];
  await ada.getByRole("button", { name: "bob (1)" }).click();
  await ada.getByText("bob: Hello Ada").waitFor();
  await ada.locator("button:focus", { hasText: "bob (0)" }).waitFor();
  await checkAccessibility(ada);

  // The server can't be reached, but the files of the page can.
  const server = `${new URLSearchParams(new URL(links[0]!).hash.slice(1)).get("url")}/**`;
  await ada.route(server, (route) => route.abort());
  await ada.getByLabel("Message").fill("Hello Bob");
  await ada.getByLabel("Message").press("Enter");
  await ada.getByText("ada: Hello Bob (waiting)").waitFor();
  await ada.reload();
  await ada.getByRole("button", { name: "bob (0)" }).click();
  await ada.getByText("ada: Hello Bob (waiting)").waitFor();
  await ada.unroute(server);
  await ada.evaluate('dispatchEvent(new Event("online"))');
  await ada.getByText(/^ada: Hello Bob$/).waitFor();
  await bob.getByRole("button", { name: "ada (1)" }).click();
  await bob.getByText("ada: Hello Bob").waitFor();

  const refusal = { type: "about:blank", title: "Refused", code: "not_owner", detail: "Not today." };
  await bob.route("**/v1/messages", (route) =>
    route.fulfill({ status: 403, contentType: "application/problem+json", json: refusal }),
  );
  await bob.getByLabel("Message").fill("Hello again");
  await bob.getByLabel("Message").press("Enter");
  await bob.getByRole("button", { name: "Retry: Not today." }).waitFor();
  await bob.unroute("**/v1/messages");
  await bob.getByRole("button", { name: "Retry: Not today." }).click();
  await ada.getByText(/^bob: Hello again$/).waitFor();
  assert.deepEqual(
    errors.filter((error) => !error.includes("CORS")),
    [],
  );
});
