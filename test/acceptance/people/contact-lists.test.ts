import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Contact,
  call,
  contact,
  contacts,
  faulty,
  links,
  newContact,
  problem,
  walk,
} from "../client.ts";

/** Creates contacts one by one, and returns them newest first, as in a list. The server may have others, too. */
async function newest(count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let at = 0; at < count; at++) ids.unshift((await newContact()).id);
  return ids;
}

function only(items: Contact[], ids: string[]): string[] {
  return items.map(({ id }) => id).filter((id) => ids.includes(id));
}

test("a list has ten contacts by default, newest first, in full, and says if there are more", async () => {
  const ids = await newest(12);
  const { has_more, data } = contacts(await call("GET", "/v1/contacts"));
  assert.equal(data.length, 10);
  assert.equal(has_more, true);
  const mine = only(data, ids);
  assert.deepEqual(mine, ids.slice(0, mine.length));
  for (const item of data.filter(({ id }) => ids.includes(id))) {
    assert.deepEqual(contact(await call("GET", `/v1/contacts/${item.id}`)), item);
  }
});

test("limit sets the length of a page, from 1 to 100", async () => {
  await newest(4);
  for (const limit of [1, 2, 3, 4]) {
    const { has_more, data } = contacts(await call("GET", `/v1/contacts?limit=${limit}`));
    assert.equal(data.length, limit);
    if (limit < 4) assert.equal(has_more, true);
  }
  assert.ok(contacts(await call("GET", "/v1/contacts?limit=100")).data.length <= 100);
});

for (const limit of [
  "0",
  "101",
  "-1",
  "1.5",
  "ten",
  "",
  "0x10",
  "10abc",
  "99999999999999999999",
  "null",
  "NaN",
]) {
  test(`limit=${limit} is 400 naming limit`, async () => {
    faulty(await call("GET", `/v1/contacts?limit=${limit}`), "limit");
  });
}

for (const limit of [3, 10, 100]) {
  test(`paging by starting_after with limit=${limit} returns every contact once, newest first`, async () => {
    const ids = await newest(11);
    const pages = await walk(`/v1/contacts?limit=${limit}`, contacts, "starting_after");
    assert.deepEqual(only(pages.flat(), ids), ids);
    for (const page of pages.slice(0, -1)) assert.equal(page.length, limit);
    const all = pages.flat().map(({ id }) => id);
    assert.equal(new Set(all).size, all.length);
  });
}

test("paging by ending_before returns every newer contact once, each page newest first and next to the cursor", async () => {
  const ids = await newest(11);
  const oldest = ids.at(-1) ?? "";
  const pages = await walk("/v1/contacts?limit=3", contacts, "ending_before", oldest);
  assert.deepEqual(only(pages.toReversed().flat(), ids), ids.slice(0, -1));
  for (const page of pages.slice(0, -1)) assert.equal(page.length, 3);
});

test("has_more is false on the page with the last contact, and the next page is empty", async () => {
  await newest(2);
  const pages = await walk("/v1/contacts?limit=100", contacts, "starting_after");
  const last = pages.flat().at(-1)?.id;
  const reply = contacts(await call("GET", `/v1/contacts?starting_after=${last}`));
  assert.deepEqual(reply, { has_more: false, data: [] });
});

test("a cursor still works after its contact is deleted, in both directions", async () => {
  const ids = await newest(5);
  const cursor = ids[2];
  await call("DELETE", `/v1/contacts/${cursor}`);
  const older = contacts(await call("GET", `/v1/contacts?limit=100&starting_after=${cursor}`));
  assert.deepEqual(only(older.data, ids), ids.slice(3));
  const newer = await walk("/v1/contacts?limit=100", contacts, "ending_before", cursor);
  assert.deepEqual(only(newer.toReversed().flat(), ids), ids.slice(0, 2));
});

test("pages neither skip nor repeat a contact while others are added and deleted", async () => {
  const ids = await newest(14);
  const passing = ids.filter((_, at) => at % 3 === 1);
  const staying = ids.filter((id) => !passing.includes(id));
  const seen: string[] = [];
  let path = "/v1/contacts?limit=3";
  while (seen.filter((id) => staying.includes(id)).length < staying.length) {
    const { has_more, data } = contacts(await call("GET", path));
    seen.push(...data.map(({ id }) => id));
    assert.ok(has_more || data.length > 0, `the list ended after ${seen.length}`);
    path = `/v1/contacts?limit=3&starting_after=${data.at(-1)?.id}`;
    await newContact();
    const gone = passing.pop();
    if (gone !== undefined) await call("DELETE", `/v1/contacts/${gone}`);
  }
  assert.deepEqual(
    seen.filter((id) => staying.includes(id)),
    staying,
  );
  assert.equal(new Set(seen).size, seen.length);
});

test("contacts created at the same moment are listed once each", async () => {
  const made = await Promise.all(Array.from({ length: 20 }, () => newContact()));
  const ids = made.map(({ id }) => id);
  const pages = await walk("/v1/contacts?limit=7", contacts, "starting_after");
  assert.deepEqual(only(pages.flat(), ids).sort(), ids.toSorted());
});

test("both cursors at once are 400", async () => {
  const [one, two] = await newest(2);
  problem(await call("GET", `/v1/contacts?starting_after=${one}&ending_before=${two}`), 400);
});

for (const cursor of ["starting_after", "ending_before"]) {
  for (const value of ["", "nonsense", "con_", "con_!!!", "0", "con_00000000000000000000000000x"]) {
    test(`${cursor}=${value} is malformed: 400 naming ${cursor}`, async () => {
      faulty(await call("GET", `/v1/contacts?${cursor}=${encodeURIComponent(value)}`), cursor);
    });
  }

  test(`${cursor} given twice is 400 naming it`, async () => {
    const [one, two] = await newest(2);
    faulty(await call("GET", `/v1/contacts?${cursor}=${one}&${cursor}=${two}`), cursor);
  });
}

test("limit given twice is 400 naming it, even with the same value", async () => {
  faulty(await call("GET", "/v1/contacts?limit=5&limit=5"), "limit");
});

test("Link names the next and the previous page with their contacts", async () => {
  const ids = await newest(6);
  const first = await call("GET", "/v1/contacts?limit=3");
  const { next } = links(first);
  assert.ok(next, "the first page has no next");
  const second = await call("GET", next);
  assert.equal(contacts(second).data.length, 3);
  const mine = only([...contacts(first).data, ...contacts(second).data], ids);
  assert.deepEqual(mine, ids.slice(0, mine.length));
  const { prev } = links(second);
  assert.ok(prev, "the second page has no prev");
  assert.deepEqual(contacts(await call("GET", prev)).data, contacts(first).data);
});

test("the last page names no next page, and the first no previous one", async () => {
  await newest(2);
  const all = (await walk("/v1/contacts?limit=100", contacts, "starting_after")).flat();
  const last = await call("GET", `/v1/contacts?starting_after=${all.at(-2)?.id}`);
  assert.equal(contacts(last).has_more, false);
  assert.equal(links(last).next, undefined);
  assert.equal(links(await call("GET", "/v1/contacts")).prev, undefined);
});
