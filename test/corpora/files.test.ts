// Files that others made, and what they say that files are, over real HTTP.
import { test } from "node:test";
import { startApp } from "../support/app.ts";
import { mediaTypes, pictures } from "./cases/images.ts";

test("pictures, under false names and types", async (t) => {
  t.diagnostic(await pictures(await startApp(t)));
});

test("every registered type, and every extension", async (t) => {
  t.diagnostic(await mediaTypes(await startApp(t)));
});
