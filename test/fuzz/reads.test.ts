// Inputs of reads: ranges of files, signed links, cursors and searches.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { upload } from "../support/app.ts";
import { add } from "../support/people.ts";
import { damage, damages, oneOf, seldom, texts } from "./damage.ts";
import { fuzz, startSubject } from "./fuzz.ts";
import { type Answer, ask, json, LONG_HEAD } from "./wire.ts";

/** Returns what a header or a request line can contain: Latin-1 without control characters. */
const oneLine = (bytes: Buffer) =>
  bytes
    .toString("latin1")
    .replace(/[^\x21-\x7e]+/g, " ")
    .trim();

/** Generates the text, unchanged or damaged. */
function maybeHurt(text: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .tuple(text, seldom(damages, 3))
    .map(([whole, harm]) => (!harm ? whole : oneLine(damage(Buffer.from(whole), harm))));
}

const SIZES = [0, 1, 10, 5000, 150_000];

const numbers = fc.oneof(
  fc.nat(12),
  fc.constantFrom(
    4999,
    5000,
    149_999,
    150_000,
    2 ** 31,
    2 ** 53,
    "",
    "00",
    "-1",
    "+1",
    "1e3",
    "0x1",
    "9".repeat(400),
  ),
);
const ranges = maybeHurt(
  fc
    .tuple(
      oneOf("bytes|bytes|bytes|Bytes|items|bytes |"),
      fc.array(fc.tuple(numbers, numbers), { minLength: 1, maxLength: 3 }),
    )
    .map(([unit, all]) => `${unit}=${all.map(([from, to]) => `${from}-${to}`).join(", ")}`),
);

/**
 * Asserts that the answer has the whole file, the range that it names, or nothing if the range is outside the file.
 */
function isRange({ status, headers, body }: Answer, whole: Buffer, about: string): void {
  const said = headers.get("content-range");
  if (status === 416) assert.equal(said, `bytes */${whole.length}`, about);
  else if (status === 200) assert.ok(body.equals(whole), about);
  else {
    assert.equal(status, 206, about);
    const [from, to, size] = said!.match(/\d+/g)!.map(Number) as [number, number, number];
    assert.equal(said, `bytes ${from}-${to}/${whole.length}`, about);
    assert.ok(from <= to && to < size, about);
    assert.ok(body.equals(whole.subarray(from, to + 1)), about);
  }
}

test("a range request gets exactly the bytes that its answer names", async (t) => {
  const subject = await startSubject(t);
  const files = await Promise.all(
    SIZES.map(async (size) => {
      const bytes = Buffer.from(Array.from({ length: size }, (_, i) => i % 251));
      const made = await upload(subject.url, subject.mine, new File([bytes], "a.bin"));
      const { file_url } = (await made.json()) as { file_url: string };
      const target = file_url.slice(subject.url.length);
      return { bytes, target, etag: (await ask(subject.url, { target })).headers.get("etag")! };
    }),
  );
  const inputs = fc.record({
    which: fc.nat(SIZES.length - 1),
    range: ranges,
    ifRange: seldom(oneOf('the tag|"x"|Thu, 01 Jan 1970 00:00:00 GMT||W/'), 3),
  });
  await fuzz(t, subject, "ranges", inputs, async ({ which, range, ifRange }) => {
    const { bytes, target, etag } = files[which]!;
    const headers = {
      range,
      ...(ifRange === undefined ? {} : { "if-range": ifRange === "the tag" ? etag : ifRange }),
    };
    const answer = await ask(subject.url, { target, headers });
    if (answer.status === 431) return assert.ok(range.length > LONG_HEAD, range);
    isRange(answer, bytes, `${answer.status} to ${range} of ${bytes.length}`);
    const plain = /^bytes=(\d+)-(\d+)$/i.exec(range);
    const inside = plain !== null && Number(plain[1]) <= Number(plain[2]) && Number(plain[1]) < bytes.length;
    if (inside && (ifRange === undefined || ifRange === "the tag")) assert.equal(answer.status, 206, range);
  });
});

const LINK_PARTS = ["id", "filename", "user", "expires", "signature"] as const;

test("a link opens only its file, and only as it was signed", async (t) => {
  const subject = await startSubject(t);
  const { url, mine, theirs } = subject;
  const links = await Promise.all(
    [mine, mine, theirs].map(async (user, i) => {
      const made = await upload(url, user, new File([`file ${i}`], `ä ${i}.txt`));
      const { pathname, searchParams } = new URL(((await made.json()) as { file_url: string }).file_url);
      const [, , id, filename] = pathname.split("/");
      return {
        id: id!,
        filename: filename!,
        user: searchParams.get("user")!,
        expires: searchParams.get("expires")!,
        signature: searchParams.get("signature")!,
      };
    }),
  );
  const inputs = fc.record({
    which: fc.nat(links.length - 1),
    from: fc.record(
      Object.fromEntries(LINK_PARTS.map((part) => [part, seldom(fc.nat(links.length - 1), 5)])),
    ),
    hurt: seldom(
      fc.tuple(
        fc.constantFrom(...LINK_PARTS),
        fc.oneof(
          damages,
          texts.map((text) => text.slice(0, 200)),
        ),
      ),
      2,
    ),
    more: oneOf("||&download=1|&download=2|&signature=x|&a=b|&|&expires=99999999999"),
  });
  await fuzz(t, subject, "links", inputs, async ({ which, from, hurt, more }) => {
    const link = { ...links[which]! };
    for (const part of LINK_PARTS) if (from[part] != null) link[part] = links[from[part]]![part];
    if (hurt) {
      const [part, harm] = hurt;
      link[part] = encodeURIComponent(
        typeof harm === "string" ? harm.toWellFormed() : damage(Buffer.from(link[part]), harm).toString(),
      );
    }
    const { id, filename, user, expires, signature } = link;
    const answer = await ask(url, {
      target: `/files/${id}/${filename}?user=${user}&expires=${expires}&signature=${signature}${more}`,
    });
    const owned = links.findIndex((each) => each.id === id);
    // The name is not signed: the link redirects to the right name.
    const signed =
      owned !== -1 &&
      (["user", "expires", "signature"] as const).every((part) => link[part] === links[owned]![part]);
    const about = `${answer.status} to ${JSON.stringify({ ...link, more })}`;
    if (answer.status === 431) return assert.ok(id.length + filename.length > LONG_HEAD, about);
    if (!signed) assert.ok([400, 403, 404].includes(answer.status), about);
    else if (!["", "&", "&download=1"].includes(more)) assert.equal(answer.status, 400, about);
    else if (filename !== links[owned]!.filename) assert.ok([308, 404].includes(answer.status), about);
    else assert.equal(answer.body.toString(), `file ${owned}`, about);
    if (answer.status === 308)
      assert.ok(
        answer.headers.get("location")!.startsWith(`${url}/files/${id}/${links[owned]!.filename}?`),
        about,
      );
  });
});

test("a page has exactly the items after its cursor, and only the caller's", async (t) => {
  const subject = await startSubject(t);
  const { url } = subject;
  const [grace, alan] = [await subject.user(), await subject.user()];
  const listOf = async (who: typeof grace) => {
    const made = [];
    for (let i = 0; i < 25; i++) made.push(await add(subject, who, `friend ${i}`));
    return made.map(({ id }) => id).reverse();
  };
  const [own, foreign] = [await listOf(grace), await listOf(alan)];
  const ids = fc.constantFrom(
    ...own,
    ...foreign,
    "con_00000000000000000000000000",
    "con_7zzzzzzzzzzzzzzzzzzzzzzzzz",
    "att_01m7yvg6zye7yrf4hzt3qf45mv",
  );
  const limits = fc.oneof(fc.integer({ min: -1, max: 102 }).map(String), oneOf("1e1|010| 5|5.0||９"));
  const query = fc.record(
    {
      limit: limits,
      starting_after: ids,
      ending_before: ids,
      other: oneOf("page|starting_after[]|__proto__|LIMIT"),
    },
    { requiredKeys: [] },
  );
  const inputs = fc.record({
    query,
    harm: seldom(fc.tuple(oneOf("limit|starting_after|ending_before"), texts), 4),
  });
  await fuzz(t, subject, "pages", inputs, async ({ query: { other, ...wanted }, harm }) => {
    const given: Record<string, string> = { ...wanted, ...(other === undefined ? {} : { [other]: "1" }) };
    if (harm) given[harm[0]] = harm[1].slice(0, 200).toWellFormed();
    const answer = await ask(url, {
      target: `/v1/contacts?${new URLSearchParams(given)}`,
      headers: grace.headers,
    });
    const { limit = "10", starting_after: after, ending_before: before } = given;
    const isId = (text: string | undefined) =>
      text === undefined || /^con_[0-7][0-9a-hjkmnp-tv-z]{25}$/.test(text);
    const valid =
      /^([1-9]\d?|100)$/.test(limit) &&
      isId(after) &&
      isId(before) &&
      !(after && before) &&
      other === undefined;
    assert.equal(answer.status, valid ? 200 : 400, JSON.stringify(given));
    if (!valid) return;
    const all = own.filter((id) => (after ? id < after : before ? id > before : true));
    const data = before ? all.slice(-Number(limit)) : all.slice(0, Number(limit));
    const page = json<{ has_more: boolean; data: { id: string }[] }>(answer);
    assert.deepEqual(
      page.data.map(({ id }) => id),
      data,
      JSON.stringify(given),
    );
    assert.equal(page.has_more, data.length < all.length);
  });
});

test("a search accepts any valid text within the limit, and finds contacts of that name", async (t) => {
  const subject = await startSubject(t);
  const { url } = subject;
  const grace = await subject.user();
  const file = await upload(url, grace, new File(["x"], "notes.txt"));
  const kept = ((await file.json()) as { id: string }).id;
  let names = 0;
  const parts = fc.oneof(
    { weight: 3, arbitrary: texts },
    fc.constantFrom("notes", "txt notes", "9".repeat(200)),
  );
  const inputs = fc.array(parts, { minLength: 1, maxLength: 20 }).map((all) => all.join(" "));
  await fuzz(t, subject, "searches", inputs, async (q) => {
    const text = q.toWellFormed();
    const words = text
      .normalize("NFKC")
      .split(/[\p{P}\p{Z}\p{C}]+/u)
      .filter(Boolean);
    const isClean = !/\p{Cc}/u.test(text) && [...text].length <= 255 && words.length <= 32;
    const query = new URLSearchParams({ q: text, limit: "100" });
    const find = async (list: string) => {
      const answer = await ask(url, { target: `/v1/${list}?${query}`, headers: grace.headers });
      if (answer.status === 431) return undefined;
      assert.equal(answer.status, isClean ? 200 : 400, JSON.stringify(text));
      if (!isClean) return undefined;
      return json<{ data: { id: string }[] }>(answer).data.map(({ id }) => id);
    };
    const files = await find("attachments");
    const isKept = words.every((word) =>
      ["notes", "txt"].some((each) => each.startsWith(word.toLowerCase())),
    );
    if (files) assert.deepEqual(files, isKept ? [kept] : [], JSON.stringify(text));
    // A contact with the text as its name is found by it.
    const fields = { username: text, phone_number: "555" };
    const made = await ask(url, {
      method: "POST",
      target: "/v1/contacts",
      headers: { ...grace.headers, "content-type": "application/json" },
      body: Buffer.from(JSON.stringify(fields)),
    });
    const found = await find("contacts");
    if (made.status !== 201 || !found) return;
    names++;
    const { id } = json<{ id: string }>(made);
    assert.ok(found.includes(id), JSON.stringify(text));
    await ask(url, { method: "DELETE", target: `/v1/contacts/${id}`, headers: grace.headers });
  });
  t.diagnostic(`${names} names were found`);
});

const MAX_QUERY = 128;

test("a message is found by its text, and no text is parsed as a search operator", async (t) => {
  const subject = await startSubject(t);
  const { url, mine } = subject;
  const { conversation_id } = json<{ conversation_id: string }>(
    await ask(url, { target: "/v1/me", headers: mine.headers }),
  );
  const find = (text: string) => {
    // Longer than a query may be, but shorter than request headers may be.
    const q = text.slice(0, 2 * MAX_QUERY + 1).toWellFormed();
    return ask(url, {
      target: `/v1/messages?limit=100&${new URLSearchParams({ q })}`,
      headers: mine.headers,
    });
  };
  const inputs = fc.record({ text: texts.map((text) => text.toWellFormed()), other: texts });
  await fuzz(t, subject, "words", inputs, async ({ text, other }) => {
    const body = Buffer.from(JSON.stringify({ conversation_id, text }));
    const headers = { ...mine.headers, "content-type": "application/json" };
    const sent = await ask(url, { method: "POST", target: "/v1/messages", headers, body });
    assert.ok([201, 400].includes(sent.status), sent.body.toString());
    for (const q of [other, `"${text}`, `${text}* NEAR(a b) OR ^${other}`])
      assert.ok([200, 400].includes((await find(q)).status), q);
    if (sent.status !== 201 || [...text].length > MAX_QUERY) return;
    const found = await find(text);
    assert.ok([200, 400].includes(found.status), found.body.toString());
    if (found.status === 400) return;
    const { data } = json<{ data: { id: string }[] }>(found);
    const { id } = json<{ id: string }>(sent);
    assert.ok(
      data.some((message) => message.id === id),
      text,
    );
    assert.equal(
      (await ask(url, { method: "DELETE", target: `/v1/messages/${id}`, headers: mine.headers })).status,
      204,
    );
    assert.ok(
      !json<{ data: { id: string }[] }>(await find(text)).data.some((message) => message.id === id),
      text,
    );
  });
});
