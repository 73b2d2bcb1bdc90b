// The model of model.test.ts on PostgreSQL, and for longer.
import { test } from "node:test";
import { ENGINES } from "../support/on-engines.ts";
import { runModel } from "./model-run.ts";

for (const engine of ENGINES)
  test(`devices agree with the server after many faults (${engine})`, (t) =>
    runModel(t, engine, 400, 10_000));
