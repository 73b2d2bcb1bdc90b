import assert from "node:assert/strict";
import { test } from "node:test";
import { chooseCoding } from "../../src/http/protocol/content-codings.ts";

const OFFERED = ["br", "gzip"];

test("the client's preferred content coding is chosen, and the first offered among equal ones", () => {
  for (const [accepted, chosen] of [
    ["gzip, deflate, br, zstd", "br"],
    ["gzip", "gzip"],
    ["GZip", "gzip"],
    ["gzip;q=1.0, br;q=0.5", "gzip"],
    ["gzip;q=0.001", "gzip"],
    ["gzip ; q=0.5 , br;Q=0.5", "br"],
    ["*", "br"],
    ["br;q=0, *", "gzip"],
    ["*;q=0.1, gzip;q=0.2", "gzip"],
    ["identity;q=0.5, gzip;q=0.5", "gzip"],
    ["identity;q=0, br;q=0, gzip;q=0.1", "gzip"],
    [",, gzip,", "gzip"],
  ] as const)
    assert.equal(chooseCoding(accepted, OFFERED), chosen, accepted);
});

test("a client that accepts no coding gets none", () => {
  for (const accepted of [
    "",
    " ",
    "identity",
    "deflate, zstd",
    "br;q=0",
    "br;q=0.0, gzip;q=0.000",
    "*;q=0",
    "identity, gzip;q=0.5",
    "identity;q=0",
    "xgzip",
    "gzip/br",
    "gzip;q=2",
    "gzip;q=-1",
    "gzip;q=0.1234",
    "gzip;q=",
    "gzip;level=9",
    "gzip br",
    '"gzip"',
  ])
    assert.equal(chooseCoding(accepted, OFFERED), undefined, accepted);
});
