// Headers that guard a request: Authorization, If-Match and Idempotency-Key.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { add } from "../support/people.ts";
import { damage, damages, oneOf, seldom } from "./damage.ts";
import { fuzz, startSubject } from "./fuzz.ts";
import { ask, json, LONG_HEAD } from "./wire.ts";

/** Returns a header value as its receiver must read it, without the bytes that would end the line. */
const fieldText = (bytes: Buffer) =>
  bytes
    .toString("latin1")
    .replace(/[^\t\x20-\x7e\x80-\xff]/g, "")
    .replace(/^[\t ]+|[\t ]+$/g, "");
const hurt = (text: string) => damages.map((harm) => fieldText(damage(Buffer.from(text), harm)));

test("only the exact token authenticates", async (t) => {
  const subject = await startSubject(t);
  const { url, mine, theirs } = subject;
  const values = fc.oneof(
    hurt(`Bearer ${mine.token}`),
    fc
      .tuple(
        oneOf("Bearer |bearer  |Bearer\t|Bearer|Basic |Bearer Bearer ||DPoP "),
        fc.constantFrom(
          mine.token,
          theirs.token,
          mine.token.slice(0, -1),
          mine.token.toUpperCase(),
          `${mine.token}=`,
          `${mine.token}, ${theirs.token}`,
          mine.id,
          "a.b.c",
          "e30.e30.",
          "x".repeat(9000),
        ),
        oneOf("||   |,|, Bearer x"),
      )
      .map((parts) => parts.join("").trim()),
  );
  await fuzz(t, subject, "tokens", values, async (authorization) => {
    const answer = await ask(url, { target: "/v1/me", headers: { authorization } });
    const about = `${answer.status} to ${JSON.stringify(authorization)}`;
    const given = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
    const user = [mine, theirs].find(({ token }) => token === given);
    if (answer.status === 431) return assert.ok(authorization.length > LONG_HEAD, about);
    assert.equal(answer.status, user ? 200 : 401, about);
    if (user) assert.equal(json<{ id: string }>(answer).id, user.id, about);
    else assert.match(answer.headers.get("www-authenticate")!, /^Bearer/, about);
  });
});

test("If-Match allows a write only if it names the current version, and otherwise nothing changes", async (t) => {
  const subject = await startSubject(t);
  const grace = await subject.user();
  const item = { target: `/v1/contacts/${(await add(subject, grace, "alan")).id}`, headers: grace.headers };
  const tags = fc.array(
    fc.constantFrom("now", "W/now", "before", '"x"', "*", '""', "now-1", '"', '"a,b"', "9".repeat(40)),
    { minLength: 1, maxLength: 4 },
  );
  const inputs = fc.record({
    tags,
    separator: oneOf(",|, | ,\t|,,|;| "),
    harm: seldom(damages, 3),
  });
  let made = 0;
  await fuzz(t, subject, "conditions", inputs, async ({ tags, separator, harm }) => {
    const read = await ask(subject.url, item);
    const etag = read.headers.get("etag")!;
    const version = Number(/^"(\d+)/.exec(etag)![1]);
    const text = tags
      .map((tag) =>
        tag
          .replace("now-1", `"${version}-1"`)
          .replace("now", etag)
          .replace("before", `"${version - 1}"`),
      )
      .join(separator);
    const header = fieldText(damage(Buffer.from(text), harm ?? []));
    const body = Buffer.from(`display_name=${made++}`);
    const headers = {
      ...grace.headers,
      "if-match": header,
      "content-type": "application/x-www-form-urlencoded",
    };
    const answer = await ask(subject.url, { ...item, method: "PUT", headers, body });
    const named = header.split(",").some((tag) => new RegExp(`^"0*${version}(-\\d+)?"$`).test(tag.trim()));
    assert.equal(
      answer.status,
      named || header === "*" ? 200 : 412,
      `${answer.status} to ${JSON.stringify(header)} of ${etag}`,
    );
    const now = await ask(subject.url, item);
    assert.deepEqual(json(now), json(answer.status === 200 ? answer : read));
  });
});

/** Bodies that mean the same are next to each other. */
const BODIES = [
  ["application/json", '{"phone_number":"555","username":"NAME"}'],
  ["application/x-www-form-urlencoded", "username=NAME&phone_number=555"],
  ["application/json", '{"username":"NAME","phone_number":"556"}'],
  ["application/json", '{"username":"NAME"}'],
] as const;

test("requests with one Idempotency-Key are executed once, in any format", async (t) => {
  const subject = await startSubject(t);
  const { url } = subject;
  const people = [await subject.user(), await subject.user()];
  const keys = fc.oneof(
    { weight: 3, arbitrary: fc.uuid() },
    fc.string({ minLength: 1, maxLength: 300 }),
    fc.constantFrom("x".repeat(255), "x".repeat(256), "a b", "é", '"a"', "a,b", "\t"),
    hurt("0b5cbf8e-1f2e-4f66-9b4a-30e3a1d9a111"),
  );
  const request = fc.record({ who: fc.nat(1), body: fc.nat(BODIES.length - 1), together: fc.boolean() });
  const inputs = fc.record({ key: keys, requests: fc.array(request, { minLength: 1, maxLength: 5 }) });
  let run = 0;
  await fuzz(t, subject, "retries", inputs, async ({ key: wanted, requests }) => {
    // Makes the key unique to this run, unless it is invalid.
    const form = fieldText(Buffer.from(wanted, "latin1"));
    const valid = /^[\x21-\x7e]{1,255}$/.test(form);
    const key = valid ? `${run}/${form}`.slice(0, 255) : form;
    const name = `name ${run++}`;
    const send = ({ who, body }: (typeof requests)[number]) => {
      const [type, text] = BODIES[body]!;
      const headers = { ...people[who]!.headers, "content-type": type, "idempotency-key": key };
      return ask(url, {
        method: "POST",
        target: "/v1/contacts",
        headers,
        body: Buffer.from(text.replace("NAME", name)),
      });
    };
    const answers: { who: number; body: number; status: number; id: string }[] = [];
    for (let at = 0; at < requests.length; ) {
      const group = [requests[at++]!];
      while (requests[at]?.together) group.push(requests[at++]!);
      for (const [i, answer] of (await Promise.all(group.map(send))).entries())
        answers.push({
          ...group[i]!,
          status: answer.status,
          id: json<{ id: string }>(answer).id,
        });
    }
    const about = JSON.stringify({ key, answers });
    for (const { status, body } of answers)
      assert.ok(
        !valid ? status === 400 : (body === 3 ? [400, 409] : [201, 409, 422]).includes(status),
        about,
      );
    for (const who of [0, 1]) {
      const made = answers.filter((answer) => answer.who === who && answer.status === 201);
      assert.ok(new Set(made.map(({ id }) => id)).size <= 1, about);
      assert.ok(new Set(made.map(({ body }) => Math.max(1, body))).size <= 1, about);
      const target = `/v1/contacts?username=${encodeURIComponent(name)}`;
      const found = json<{ data: { id: string }[] }>(
        await ask(url, { target, headers: people[who]!.headers }),
      );
      assert.deepEqual(
        found.data.map(({ id }) => id),
        made.slice(0, 1).map(({ id }) => id),
        about,
      );
    }
    return requests.length;
  });
});
