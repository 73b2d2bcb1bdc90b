// The browser's own WebSocket.
import assert from "node:assert/strict";
import { test } from "node:test";
import { startApp } from "../../support/app.ts";
import { noChromium, openBrowser } from "../../support/engines/chromium.ts";
import { add, person } from "../../support/people.ts";

test("a page receives events over a WebSocket, and a page of another origin does not", {
  skip: noChromium,
}, async (t) => {
  const server = await startApp(t);
  const ann = await person(server, "ann");
  const page = await (await openBrowser(t)).newPage();
  const open = () =>
    page.evaluate(`new Promise((resolve) => {
      const socket = new WebSocket("${server.url.replace("http", "ws")}/v1/events", "parley.1");
      socket.onopen = () => socket.send(JSON.stringify({ token: ${JSON.stringify(ann.token)} }));
      window.received = new Promise((receive) => {
        socket.onmessage = ({ data }) => {
          const { type } = JSON.parse(data);
          if (type === "ready") resolve(type);
          else receive(type);
        };
      });
      socket.onclose = ({ code }) => resolve(code);
    })`);
  await page.goto(`${server.url}/healthz`);
  assert.equal(await open(), "ready");
  await add(server, ann, "friend");
  assert.equal(await page.evaluate("window.received"), "contact.created");
  await page.goto(`${server.url.replace("127.0.0.1", "localhost")}/healthz`);
  assert.equal(await open(), 1006);
});
