import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { toPage, toPageRequest } from "../../src/core/resource/page.ts";
import { holds } from "../support/property.ts";

type PageRequest = Parameters<typeof toPageRequest>[0];

/**
 * Returns the page of these ids as a database would: from the cursor on, with one more than the limit if there is
 * one.
 */
function pageFrom(ids: readonly string[], request: PageRequest) {
  const page = toPageRequest(request);
  const beyond = ids.filter((id) => (page.newer ? id > page.cursor : id < page.cursor));
  const rows = page.newer ? beyond.toSorted() : beyond.toSorted().reverse();
  return toPage(page, rows.slice(0, page.limit + 1), (id) => id, { cursorOf: (id) => id });
}

const lists = fc.uniqueArray(fc.stringMatching(/^con_[0-7][0-9a-hjkmnp-tv-z]{3}$/), { maxLength: 30 });
const limits = fc.integer({ min: 1, max: 8 });
const newestFirst = (ids: readonly string[]) => ids.toSorted().reverse();

test("paging to older items returns each once, newest first, with has_more until the last page", () =>
  holds(
    fc.property(lists, limits, (ids, limit) => {
      const seen: string[] = [];
      for (let request: PageRequest = { limit }; ; request = { limit, starting_after: seen.at(-1) }) {
        const { data, has_more } = pageFrom(ids, request);
        seen.push(...data);
        assert.ok(data.length <= limit);
        assert.equal(has_more, seen.length < ids.length);
        if (!has_more) break;
      }
      assert.deepEqual(seen, newestFirst(ids));
    }),
  ));

test("paging to newer items returns each once, newest first within a page, with has_more until the last page", () =>
  holds(
    fc.property(lists, limits, (ids, limit) => {
      let seen: string[] = [];
      for (let from = "con_"; ; from = seen[0]!) {
        const { data, has_more } = pageFrom(ids, { limit, ending_before: from });
        seen = [...data, ...seen];
        assert.ok(data.length <= limit);
        assert.equal(has_more, seen.length < ids.length);
        if (!has_more) break;
      }
      assert.deepEqual(seen, newestFirst(ids));
    }),
  ));

test("a cursor still works after its item is deleted", () => {
  const page = pageFrom(["con_1", "con_3"], { limit: 1, starting_after: "con_2" });
  assert.deepEqual(page, { has_more: false, data: ["con_1"], first: "con_1", last: "con_1" });
  const newer = pageFrom(["con_1", "con_3"], { limit: 1, ending_before: "con_2" });
  assert.deepEqual(newer, { has_more: false, data: ["con_3"], first: "con_3", last: "con_3" });
});

test("an empty list is an empty page", () =>
  assert.deepEqual(pageFrom([], { limit: 10 }), {
    has_more: false,
    data: [],
    first: null,
    last: null,
  }));

const isSought = (id: string) => /[0-9]$/.test(id);

/** Returns the page of a search for ids that end in a digit, which examines at most this many ids. */
function searchFrom(ids: readonly string[], request: PageRequest, most: number) {
  const page = toPageRequest(request);
  const beyond = ids.filter((id) => (page.newer ? id > page.cursor : id < page.cursor)).toSorted();
  const looked = (page.newer ? beyond : beyond.reverse()).slice(0, most);
  const found = looked.filter(isSought).slice(0, page.limit + 1);
  const end = looked.length < beyond.length ? looked.at(-1) : undefined;
  const envelope = toPage(page, found, (id) => JSON.stringify({ id }), { end });
  const { first, last } = envelope;
  const shown = envelope.data.map((json) => JSON.parse(json).id as string);
  return { first, last, end, hasMore: envelope.has_more, found: shown };
}

for (const newer of [false, true]) {
  test(`a search that stops early continues by its cursors and returns each item once (${newer ? "newer items" : "older items"})`, () =>
    holds(
      fc.property(lists, limits, fc.integer({ min: 1, max: 8 }), (ids, limit, most) => {
        const seen: string[] = [];
        for (let cursor: string | null = newer ? "con_" : "con_~"; ; ) {
          const request = newer ? { ending_before: cursor } : { starting_after: cursor };
          const page = searchFrom(ids, { limit, ...request } as PageRequest, most);
          seen.push(...(newer ? page.found.toReversed() : page.found));
          assert.ok(page.found.length <= limit);
          if (!page.hasMore) break;
          // Paging back from a page returns the items before it and none of the page.
          const back = newer ? { starting_after: page.last! } : { ending_before: page.first! };
          const before = searchFrom(ids, { limit: 100, ...back }, 100).found;
          assert.deepEqual(
            before.filter((id) => page.found.includes(id)),
            [],
          );
          assert.equal(before.length, seen.length - page.found.length);
          cursor = newer ? page.first : page.last;
          if (page.found.length < limit) assert.equal(cursor, page.end);
        }
        const sorted = ids.filter(isSought).toSorted();
        assert.deepEqual(seen, newer ? sorted : sorted.reverse());
      }),
    ));
}
