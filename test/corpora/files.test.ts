// Files from other projects and the types that they claim, over real HTTP.
import { test } from "node:test";
import { startApp } from "../support/app.ts";
import { mediaTypes, pictures } from "./cases/images.ts";

test("pictures with false names and types get their real type", async (t) => {
  t.diagnostic(await pictures(await startApp(t)));
});

test("files of every registered type and extension never get a type that browsers execute", async (t) => {
  t.diagnostic(await mediaTypes(await startApp(t)));
});
