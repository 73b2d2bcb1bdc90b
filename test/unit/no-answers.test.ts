import assert from "node:assert/strict";
import { test } from "node:test";
import { NoAnswers } from "../../src/jobs/no-answers.ts";

const failure = (code: string) => Object.assign(new Error("failed"), { code });

test("each reason of a webhook is new once, until the webhook accepts an event", () => {
  const noAnswers = new NoAnswers();
  const [refused, reset] = [failure("ECONNREFUSED"), failure("ECONNRESET")];
  assert.deepEqual(
    [refused, reset, refused].map((error) => noAnswers.note("a", error)),
    [true, true, false],
  );
  assert.ok(noAnswers.note("b", refused));
  noAnswers.forget("a");
  assert.deepEqual([noAnswers.note("a", refused), noAnswers.note("b", refused)], [true, false]);
});

test("reasons without a code differ by their text", () => {
  const noAnswers = new NoAnswers();
  const texts = ["late", "no address", "late"];
  assert.deepEqual(
    texts.map((text) => noAnswers.note("a", new Error(text))),
    [true, true, false],
  );
});

test("the oldest of more than a thousand failing webhooks is forgotten", () => {
  const noAnswers = new NoAnswers();
  for (let i = 0; i <= 1000; i++) assert.ok(noAnswers.note(String(i), failure("ECONNREFUSED")));
  assert.equal(noAnswers.note("1000", failure("ECONNREFUSED")), false);
  assert.equal(noAnswers.note("1", failure("ECONNREFUSED")), false);
  assert.equal(noAnswers.note("0", failure("ECONNREFUSED")), true);
});
