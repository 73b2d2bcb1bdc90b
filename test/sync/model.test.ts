// Two users with three devices each, over a bad network.
import { test } from "node:test";
import { runModel } from "./model-run.ts";

test("devices agree with the server after any schedule of faults (SQLite)", (t) =>
  runModel(t, "SQLite", 120, 10_000));
