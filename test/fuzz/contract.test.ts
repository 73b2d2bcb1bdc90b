// Sends valid and invalid requests to every operation of the OpenAPI document.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { contractOf, type Draft, draftsOf, operationsOf, requestOf } from "./contract.ts";
import { fuzz, type Subject, startSubject } from "./fuzz.ts";
import { type Answer, ask, json, preview } from "./wire.ts";

const ID = /\b(con|att|msg|cnv|grp|mem|usr|tok|evt|whk|psh|dlv|aud|upl)_[0-7][0-9a-hjkmnp-tv-z]{25}\b/g;
const MAX_KNOWN = 8;

/** Ids by kind, and tokens, collected from answers. Those that the test itself needs are left out. */
class Known {
  readonly #kinds = new Map<string, string[]>();
  readonly #kept: Set<string>;

  constructor(kept: string) {
    this.#kept = new Set(kept.match(ID));
    this.#add("link", "/files/x/y?expires=1&signature=x");
  }

  note(text: string): void {
    for (const [id, kind] of text.matchAll(ID)) if (!this.#kept.has(id)) this.#add(kind!, id);
    for (const [link] of text.matchAll(/\/files\/att_[^"?]+\?[^"]+/g)) this.#add("link", link);
    for (const [token] of text.matchAll(/parley_[A-Za-z0-9_-]{43}/g)) this.#add("minted", token);
  }

  #add(kind: string, value: string): void {
    const all = this.#kinds.get(kind) ?? [];
    if (!all.includes(value)) this.#kinds.set(kind, [...all, value].slice(-MAX_KNOWN));
  }

  pick(kind: string, n: number): string {
    const all = this.#kinds.get(kind) ?? [];
    return all.length === 0 ? `${kind}_00000000000000000000000000` : all[n % all.length]!;
  }

  /** Replaces the placeholders of a draft with ids. */
  choose({ values, body, ...draft }: Draft): Draft {
    const text = JSON.stringify({ values, fields: body?.fields });
    const chosen = JSON.parse(
      text.replace(/\{\{(\w{3}):(\d+)\}\}/g, (_, kind, n) => this.pick(kind, Number(n))),
    );
    return { ...draft, values: chosen.values, body: body && { ...body, fields: chosen.fields } };
  }
}

/** Reads all pages of a list. */
async function whole(url: string, target: string, headers: Record<string, string>): Promise<string> {
  const page = await ask(url, { target, headers });
  assert.equal(page.status, 200);
  const next = /<[^>]*?(\/v1\/[^>]+)>; rel="next"/.exec(page.headers.get("link") ?? "")?.[1];
  return page.body.toString() + (next ? await whole(url, next, headers) : "");
}

/** Fields that may change without a request, or appear only once. */
const PASSING = ["file_url", "last_active_at", "enabled", "secret", "token"];

/** Asserts that an acknowledged write is read back as it was answered. */
async function isDone(
  url: string,
  { operation, values }: Draft,
  answer: Answer,
  path: string,
  headers: Record<string, string>,
  about: string,
) {
  // The result of a replay, or of an operation without a resource to read, may be gone by now.
  if (operation.method === "GET" || answer.headers.has("idempotent-replayed")) return;
  if (
    /secret|test|redeliver|avatar$|block$|blocks\/|reactions\/|read$|typing$|join$|members/.test(
      operation.path,
    )
  )
    return;
  const attachment = answer.status === 200 && answer.headers.get("parley-attachment");
  const target = attachment
    ? `/v1/attachments/${attachment}`
    : (answer.headers.get("location")?.slice(url.length) ?? path);
  const read = await ask(url, { target, headers });
  const refused = [401, 403].includes(read.status);
  if (operation.method === "PATCH" && answer.status === 204) {
    const name = "upload-offset";
    return assert.ok(
      refused || read.headers.get(name) === answer.headers.get(name),
      `${name} after ${about}`,
    );
  }
  if (answer.status === 204)
    return assert.ok(read.status === 404 || refused, `${read.status} after ${about}`);
  if (refused) return;
  assert.equal(read.status, 200, `after ${about}`);
  const found = json<Record<string, unknown>>(read);
  for (const [name, value] of Object.entries(json<Record<string, unknown>>(answer)))
    if (!PASSING.includes(name))
      assert.deepEqual(found[name], value, `${name} after ${about}, ${JSON.stringify(values)}`);
}

const authorizationOf = (
  { mine, theirs, admin }: Subject,
  known: Known,
  who: Draft["who"],
  n: number,
): Record<string, string> =>
  ({
    admin: admin.headers,
    mine: mine.headers,
    theirs: theirs.headers,
    minted: { authorization: `Bearer ${known.pick("minted", n)}` },
    nobody: {},
    wrong: { authorization: "Bearer parley_x" },
  })[who];

test("every answer of every operation matches the OpenAPI document", async (t) => {
  const subject = await startSubject(t);
  const { url, admin } = subject;
  const document = json<Record<string, never>>(await ask(url, { target: "/openapi.json" }));
  const operations = operationsOf(document as never);
  // Deletes are rarer, because most requests need an existing resource.
  const often = operations.flatMap((each) => (each.method === "DELETE" ? [each] : [each, each, each, each]));
  const isDescribed = contractOf(document);
  const kept = ["/v1/tokens?limit=100", "/v1/users?limit=100"].map((list) => whole(url, list, admin.headers));
  const known = new Known((await Promise.all(kept)).join());
  const done = new Set<string>();
  const drafts = fc.record({ draft: fc.constantFrom(...often).chain(draftsOf), n: fc.nat(1000) });
  await fuzz(t, subject, "contract", drafts, async ({ draft: open, n }) => {
    const draft = known.choose(open);
    const { operation, who, wrong } = draft;
    const plain = requestOf(draft);
    if (operation.path.startsWith("/files/") && n % 2 === 0)
      plain.target = `${known.pick("link", n)}${wrong?.includes("=") ? `&${wrong}` : ""}`;
    const authorization = authorizationOf(subject, known, who, n);
    const request = { ...plain, headers: { ...plain.headers, ...authorization } };
    const isStream = plain.headers!.accept === "text/event-stream";
    const answer = await ask(url, request, isStream ? "first" : "wait");
    const about = `${answer.status} ${preview(answer.body)} to ${who}: ${JSON.stringify({ ...request, body: request.body?.toString() })}`;
    const headersOnly = request.method === "HEAD" || isStream;
    isDescribed(operation, answer, headersOnly, about);
    // Outside /v1 a read ignores a body.
    if (wrong?.includes("=") || (wrong && operation.path.startsWith("/v1/")))
      assert.ok(answer.status >= 400, about);
    if (answer.status < 300) done.add(operation.operationId);
    if (answer.status < 300 && !headersOnly)
      await isDone(url, draft, answer, plain.target.split("?")[0]!, authorization, about);
    if (!operation.path.startsWith("/files/")) known.note(answer.body.toString());
  });
  const others = operations.filter(({ operationId }) => !done.has(operationId));
  t.diagnostic(`never done: ${others.map(({ operationId }) => operationId).join(", ") || "none"}`);
});
