// The example of React Native, started by its command in a browser without what devices do not have, and its store.
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { type Database, openStore } from "../../examples/react-native/store.ts";
import { noChromium } from "../support/engines/chromium.ts";
import { openPage, startExample } from "./example.ts";

/** Returns a database as `expo-sqlite` has it. */
function toExpo(database: DatabaseSync): Database {
  const expo: Database = {
    execAsync: async (sql) => database.exec(sql),
    runAsync: async (sql, ...values) => database.prepare(sql).run(...values),
    getAllAsync: async <T>(sql: string, ...values: string[]) => database.prepare(sql).all(...values) as T[],
    getFirstAsync: async <T>(sql: string, ...values: string[]) =>
      (database.prepare(sql).get(...values) ?? null) as T | null,
    async withExclusiveTransactionAsync(task) {
      database.exec("BEGIN");
      try {
        await task(expo);
        database.exec("COMMIT");
      } catch (error) {
        database.exec("ROLLBACK");
        throw error;
      }
    },
    closeAsync: async () => database.close(),
  };
  return expo;
}

test("the store of the example writes all of a batch or none, and drops JSON that does not parse", async () => {
  const database = new DatabaseSync(":memory:");
  const store = await openStore(toExpo(database));
  const write = (entries: [string, object | null][]) => store.write(new Map(entries));
  await write([
    ["a/1", { text: "one" }],
    ["a/2", { text: "two" }],
    ["b/1", { text: "three" }],
  ]);
  await write([
    ["a/1", { text: "first" }],
    ["a/2", null],
  ]);
  assert.deepEqual(await store.scan("a/"), [["a/1", { text: "first" }]]);
  assert.equal(await store.get("a/2"), undefined);
  const withFile: [string, object][] = [
    ["a/3", { text: "three" }],
    ["file/1", new Blob(["content"])],
  ];
  await assert.rejects(write(withFile), TypeError);
  assert.equal(await store.get("a/3"), undefined);
  database.exec("UPDATE entries SET json = '{' WHERE key = 'b/1'");
  assert.equal(await store.get("b/1"), undefined);
  assert.deepEqual(await store.scan("b/"), [["b/1", undefined]]);
  await store.erase();
  assert.deepEqual(await store.scan(""), []);
  await store.close();
});

test("the React Native example starts with one command, and keeps what waits when it starts again", {
  skip: noChromium,
}, async (t) => {
  const errors: string[] = [];
  const links = await startExample(t, "react-native", ["Ada", "Bob"]);
  const [ada, bob] = [await openPage(t, links[0]!, errors), await openPage(t, links[1]!, errors)];
  await ada.getByRole("heading", { name: "Inbox (1)" }).waitFor();
  await ada.getByRole("button", { name: "bob (1)" }).click();
  await ada.getByText("bob: Hello Ada").waitFor();
  await ada.getByRole("button", { name: "👍 0" }).click();
  await bob.getByRole("button", { name: "ada (0)" }).click();
  await bob.getByRole("button", { name: "👍 1" }).waitFor();
  await ada.getByLabel("Message").pressSequentially("Hello Bob");
  await bob.getByText("typing…").waitFor();
  await ada.getByRole("button", { name: "Send" }).click();
  await bob.getByText("ada: Hello Bob").waitFor();

  const server = `${new URLSearchParams(new URL(links[0]!).hash.slice(1)).get("url")}/**`;
  await ada.route(server, (route) => route.abort());
  const stored = ada.waitForResponse((response) => !!response.request().postData()?.includes("See you"));
  await ada.getByLabel("Message").fill("See you");
  await ada.getByLabel("Message").press("Enter");
  await ada.getByText("waiting").waitFor();
  await stored;
  await ada.reload();
  await ada.getByRole("button", { name: "bob (0)" }).click();
  await ada.getByText("waiting").waitFor();
  await ada.unroute(server);
  await ada.reload();
  await bob.getByText("ada: See you").waitFor();
  assert.equal(await bob.getByText("ada: See you").count(), 1);
  assert.deepEqual(errors, []);
});
