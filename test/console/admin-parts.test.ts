// Parts of the administration that need no browser.
import assert from "node:assert/strict";
import { test } from "node:test";
import { diagnose, EVENT_TYPES, toHookState } from "../../console/src/admin/advice.ts";
import { toCell } from "../../console/src/admin/audit-csv.ts";
import {
  ACTIONS as FILTERS,
  groupEntries,
  toGroupSentence,
  toSentence,
  toText,
} from "../../console/src/admin/audit-words.ts";
import { mergeDeliveries, readSince, toOldestOpen } from "../../console/src/admin/delivery-list.ts";
import {
  parseMetrics,
  readLabel,
  readValue,
  toFigures,
  toQuantile,
} from "../../console/src/admin/metrics.ts";
import { toAllowedPlace } from "../../console/src/admin/places.ts";
import { describeScopes } from "../../console/src/admin/scopes.ts";
import { formatUptime } from "../../console/src/admin/words.ts";
import type { AuditEntry, Delivery, Webhook } from "../../packages/parley-client/src/index.ts";
import { DEFAULT_SCOPES, SCOPES } from "../../src/core/people/tokens.ts";
import { RESOURCE_EVENTS } from "../../src/db/queries/events/events.ts";
import { ACTIONS } from "../../src/db/queries/record/audit-trail.ts";

const TEXT = `# HELP parley_http_requests_total Requests answered.
# TYPE parley_http_requests_total counter
parley_build_info{version="0.1.0"} 1
parley_http_requests_total{method="GET",route="/v1/me",status="200"} 100
parley_http_requests_total{method="GET",route="/v1/me",status="503"} 10
parley_http_requests_total{method="GET",route="/v1/me",status="404"} 4
parley_http_requests_total{method="GET",route="/metrics",status="200"} 77
parley_http_request_duration_seconds_bucket{le="0.1",method="GET",route="/v1/me"} 90
parley_http_request_duration_seconds_bucket{le="1",method="GET",route="/v1/me"} 100
parley_http_request_duration_seconds_bucket{le="+Inf",method="GET",route="/v1/me"} 100
parley_write_queue_length 3
process_resident_memory_bytes 1.5e+08
`;

test("metrics are parsed and become figures per second between two samples", () => {
  const metrics = parseMetrics(TEXT);
  assert.equal(readLabel(metrics, "parley_build_info", "version"), "0.1.0");
  assert.equal(readValue(metrics, "process_resident_memory_bytes"), 150_000_000);
  assert.equal(readValue(metrics, "parley_disk_free_bytes"), null);
  const later = parseMetrics(
    TEXT.replace('"200"} 100', '"200"} 150')
      .replace('"503"} 10', '"503"} 20')
      .replace('le="0.1",method="GET",route="/v1/me"} 90', 'le="0.1",method="GET",route="/v1/me"} 140')
      .replaceAll('"/v1/me"} 100\n', '"/v1/me"} 150\n'),
  );
  const first = toFigures(undefined, { at: 100, metrics });
  assert.equal(first.requests, null);
  assert.equal(first.queue, 3);
  const { requests, errors, refusals, slowest } = toFigures(
    { at: 100, metrics },
    { at: 110, metrics: later },
  );
  assert.deepEqual({ requests, errors, refusals }, { requests: 6, errors: 1, refusals: 0 });
  assert.ok(slowest! > 0.09 && slowest! <= 0.1, `${slowest}`);
  // A restart resets the counters.
  assert.equal(toFigures({ at: 100, metrics: later }, { at: 110, metrics }).requests, null);
});

test("quantiles lie within their bucket", () => {
  const buckets = [
    { bound: 0.1, count: 50 },
    { bound: 1, count: 100 },
    { bound: Infinity, count: 101 },
  ];
  assert.ok(Math.abs(toQuantile(buckets, 0.25)! - 0.0505) < 1e-9);
  assert.equal(toQuantile(buckets, 1), 1);
  assert.equal(toQuantile([{ bound: Infinity, count: 0 }], 0.5), null);
  assert.equal(toQuantile([], 0.5), null);
});

const hook: Webhook = {
  ...{ id: "whk_1", user_id: "usr_1", url: "https://a.example/secret", events: null, all_users: false },
  ...{ enabled: true, created_at: 0 },
};

function delivery(fields: Partial<Delivery>): Delivery {
  return {
    ...{ id: "dlv_1", event_id: "evt_1", type: "message.created", state: "delivered", attempts: 1 },
    ...{
      last_status: 200,
      last_error: null,
      response_body: null,
      next_attempt_at: null,
      created_at: 0,
      updated_at: 0,
    },
    ...fields,
  };
}

test("the last answer of a receiver decides the state of a webhook", () => {
  const failed = delivery({ state: "pending", last_status: 500, updated_at: 5 });
  assert.equal(toHookState(hook, []).label, "Nothing sent yet");
  assert.equal(toHookState(hook, [delivery({ state: "pending", attempts: 0 })]).label, "Waiting");
  assert.equal(toHookState(hook, [failed, delivery({ updated_at: 4 })]).label, "Failing");
  // An earlier event still waits for its retry.
  assert.equal(toHookState(hook, [failed, delivery({ updated_at: 6 })]).label, "Catching up");
  const ended = delivery({ state: "failed", updated_at: 5 });
  assert.equal(toHookState(hook, [ended, delivery({ updated_at: 6 })]).label, "Delivering");
  const disabled = toHookState({ ...hook, enabled: false }, [failed]);
  assert.deepEqual([disabled.label, disabled.diagnosis?.short], ["Disabled", "Returned 500"]);
});

test("deliveries are read again down to the oldest pending one", async () => {
  const newTo = (count: number) =>
    Array.from({ length: count }, (_, at) => delivery({ id: `dlv_${String(count - at).padStart(3, "0")}` }));
  const all = newTo(100);
  const requests: (string | undefined)[] = [];
  const list = async (after?: string) => {
    requests.push(after);
    const start = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1;
    return { data: all.slice(start, start + 20), has_more: start + 20 < all.length };
  };
  const known = newTo(30);
  assert.equal(toOldestOpen(known), "dlv_030");
  const read = await readSince(toOldestOpen(known), list);
  assert.deepEqual(mergeDeliveries(known, read), all, "no gap");
  assert.equal(requests.length, 4);
  known[20] = { ...known[20]!, state: "pending" };
  assert.equal(toOldestOpen(known), "dlv_010");
  assert.equal(toOldestOpen([]), "");
  assert.equal((await readSince("", list)).length, 100);
});

test("an outdated answer does not overwrite the state of a delivery", () => {
  const known = [delivery({ updated_at: 5, state: "pending" })];
  assert.deepEqual(mergeDeliveries(known, [delivery({ updated_at: 4, state: "failed" })]), known);
  assert.equal(mergeDeliveries(known, [delivery({ updated_at: 5 })])[0]!.state, "delivered");
});

test("each kind of failed delivery has advice", () => {
  const advise = (last_status: number | null) => diagnose(delivery({ state: "failed", last_status })).advice;
  for (const [status, advice] of [
    [null, /resolve its name/],
    [301, /redirects to/],
    [400, /secret/],
    [401, /sign-in/],
    [404, /path/],
    [410, /enable/],
    [418, /log of the receiver/],
    [500, /webhook-id/],
    [507, /webhook-id/],
  ] as const)
    assert.match(advise(status), advice, `${status}`);
});

function entry(action: string, fields: Partial<AuditEntry> = {}): AuditEntry {
  return {
    ...{ id: "aud_1", created_at: 1000, action, actor_id: "usr_ann", acted_by_id: null },
    ...{ token_id: "tok_1", object_id: "tok_2", object_name: null, details: null },
    ...fields,
  };
}

test("audit entries become sentences", () => {
  const names = new Map([
    ["usr_ann", "ann"],
    ["usr_bob", "bob"],
  ]);
  const say = (each: AuditEntry) => toText(toSentence(each), (id) => names.get(id));
  const details = { user_id: "usr_bob", name: "phone", scopes: ["admin"] };
  assert.equal(say(entry("token.revoked", { details })), "ann revoked the token “phone” of bob");
  assert.equal(
    say(entry("contact.created", { actor_id: "usr_bob", acted_by_id: "usr_ann" })),
    "ann as bob added a contact",
  );
  assert.equal(
    say(entry("token.created", { details: { ...details, name: null }, actor_id: null })),
    "The command line created an unnamed token of bob",
  );
  assert.equal(
    say(entry("user.created", { object_id: "usr_gone", details: { username: "eve" } })),
    "ann created the user eve",
  );
  assert.equal(
    say(entry("user.created", { object_id: "usr_ann", details: { username: "ann" } })),
    "ann signed in for the first time with a signed token",
  );
  assert.equal(
    say(entry("webhook.disabled", { actor_id: null, details: { origin: "https://a.example" } })),
    "Parley disabled the webhook to https://a.example because it kept failing",
  );
  assert.match(say(entry("comet.seen")), /^ann performed an action .*comet\.seen/);
});

test("the downloads of a file on one day are one group", () => {
  const noon = Date.UTC(2026, 2, 9, 12) / 1000;
  const download = (id: string, object_id: string, created_at: number, address: string) =>
    entry("attachment.downloaded", {
      ...{ id, object_id, created_at, actor_id: null, object_name: "report.pdf" },
      details: { address, count: 4 },
    });
  const groups = groupEntries([
    download("aud_6", "att_1", noon, "192.0.2.1"),
    download("aud_5", "att_2", noon, "192.0.2.1"),
    entry("token.revoked", { id: "aud_4", object_id: "att_1", created_at: noon }),
    download("aud_3", "att_1", noon - 5, "192.0.2.2"),
    download("aud_2", "att_1", noon - 9, "192.0.2.1"),
    download("aud_1", "att_1", noon - 86_400, "192.0.2.1"),
  ]);
  assert.deepEqual(
    groups.map(({ entries }) => entries.map(({ id }) => id)),
    [["aud_6", "aud_3", "aud_2"], ["aud_5"], ["aud_4"], ["aud_1"]],
  );
  const say = (at: number) => toText(toGroupSentence(groups[at]!), () => undefined);
  assert.equal(say(0), "12 downloads of “report.pdf” by its link from 192.0.2.1 and 1 other address");
  assert.equal(say(1), "Somebody downloaded “report.pdf” by its link from 192.0.2.1, 4 times");
});

test("a webhook's form has all types of events", () => {
  assert.deepEqual(EVENT_TYPES.toSorted(), RESOURCE_EVENTS.toSorted());
});

test("every action of the audit trail has a sentence and a filter", () => {
  const filters = FILTERS.flatMap(({ actions }) => actions.map(([action]) => action));
  assert.deepEqual(filters.toSorted(), ACTIONS.toSorted());
  for (const action of ACTIONS)
    assert.doesNotMatch(
      toText(toSentence(entry(action)), () => "ann"),
      /does not know/,
    );
  for (const { family, actions } of FILTERS) assert(actions.every(([action]) => action.startsWith(family)));
});

test("CSV cells are quoted and never run as formulas", () => {
  for (const [value, cell] of [
    ["plain", "plain"],
    [null, ""],
    ['say "a", b', '"say ""a"", b"'],
    ["=cmd()", "'=cmd()"],
    ["-1", "'-1"],
    ["@a\nb", '"\'@a\nb"'],
  ] as const)
    assert.equal(toCell(value), cell);
});

test("a token opens only the places that its scopes allow", () => {
  const all = ["admin", "contacts:read", "messages:read"];
  for (const [place, scopes, expected] of [
    ["admin/users", all, "admin/users"],
    ["", all, ""],
    ["con_1", all, "con_1"],
    ["administer", all, "administer"],
    ["", ["admin"], "admin"],
    ["notes", ["admin", "events:read"], "admin"],
    ["admin/audit?by=ann", ["admin"], "admin/audit?by=ann"],
    ["admin", ["contacts:read"], ""],
    ["admin/users", ["contacts:read"], ""],
    ["con_1", ["contacts:read"], "con_1"],
  ] as const)
    assert.equal(toAllowedPlace(place, scopes), expected, `${place} ${scopes}`);
});

test("the scopes of a token are summarized", () => {
  assert.equal(describeScopes(SCOPES), "All");
  assert.equal(describeScopes(SCOPES.filter((scope) => scope !== "act_as")), "All except act_as");
  assert.equal(describeScopes(DEFAULT_SCOPES), "All of a user");
  assert.equal(describeScopes(["contacts:read", "admin"]), "contacts:read, admin");
});

test("durations are formatted by their two largest units", () => {
  for (const [seconds, text] of [
    [59, "less than a minute"],
    [60, "1 minute"],
    [3600, "1 hour"],
    [7320, "2 hours 2 minutes"],
    [90_000, "1 day 1 hour"],
    [172_800, "2 days"],
  ] as const)
    assert.equal(formatUptime(seconds), text);
});
