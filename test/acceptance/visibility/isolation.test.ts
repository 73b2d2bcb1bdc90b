import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Attachment,
  attachment,
  attachments,
  type Contact,
  call,
  contact,
  contacts,
  form,
  json,
  newContact,
  type Options,
  problem,
  type Reply,
  unknownLike,
  walk,
} from "../client.ts";
import { needsSecond, second } from "../target.ts";
import { newAttachment, upload } from "../upload.ts";

const skip = needsSecond;

/** Creates what the second user must not learn of. */
async function owned(): Promise<{ person: Contact; file: Attachment }> {
  const person = await newContact({ display_name: "private" });
  const file = await newAttachment({ query: `?conversation_id=${person.conversation_id}` });
  return { person, file };
}

/** Asserts that another user's ids, unknown ids and malformed ids have the same answer. */
async function alike(foreign: string, request: (id: string) => Promise<Reply>): Promise<void> {
  const answers: unknown[] = [];
  for (const id of [foreign, unknownLike(foreign), "nonsense", foreign.slice(0, -1)]) {
    const reply = await request(id);
    const { request_id, ...body } = problem(reply, 404);
    assert.ok(request_id);
    const names = [...reply.headers.keys()].filter((name) => !name.startsWith("ratelimit"));
    answers.push({ body, names });
  }
  for (const answer of answers) assert.deepEqual(answer, answers[0]);
}

/** Asserts that nothing the second user tried has changed anything. */
async function unchanged({ person, file }: { person: Contact; file: Attachment }): Promise<void> {
  assert.deepEqual(contact(await call("GET", `/v1/contacts/${person.id}`)), person);
  const now = attachment(await call("GET", `/v1/attachments/${file.id}`));
  assert.deepEqual({ ...now, file_url: "" }, { ...file, file_url: "" });
  const listed = attachments(await call("GET", `/v1/attachments?conversation_id=${person.conversation_id}`));
  assert.deepEqual(
    listed.data.map(({ id }) => id),
    [file.id],
  );
  assert.equal((await call("GET", now.file_url, { token: null })).text, "some bytes\n");
}

for (const [method, options] of [
  ["GET", {}],
  ["PUT", {}],
  ["PUT", form({ display_name: "taken over" })],
  ["PUT", json({ display_name: null })],
  ["DELETE", {}],
] as [string, Options][]) {
  test(`${method}${options.body ? ` with ${options.body}` : ""} of another's contact answers like one that does not exist`, {
    skip,
  }, async () => {
    const mine = await owned();
    await alike(mine.person.id, (id) => call(method, `/v1/contacts/${id}`, { ...options, token: second() }));
    await unchanged(mine);
  });
}

for (const [method, options] of [
  ["GET", {}],
  ["PUT", {}],
  ["PUT", form({ filename: "taken over.txt" })],
  ["DELETE", {}],
] as [string, Options][]) {
  test(`${method}${options.body ? ` with ${options.body}` : ""} of another's attachment answers like one that does not exist`, {
    skip,
  }, async () => {
    const mine = await owned();
    await alike(mine.file.id, (id) => call(method, `/v1/attachments/${id}`, { ...options, token: second() }));
    await unchanged(mine);
  });
}

test("HEAD of another user's contact, attachment or file is 404", { skip }, async () => {
  const { person, file } = await owned();
  const paths = [
    `/v1/contacts/${person.id}`,
    `/v1/attachments/${file.id}`,
    file.file_url.replace(/\?.*/, ""),
  ];
  for (const path of [...paths, `/v1/attachments?conversation_id=${person.conversation_id}`]) {
    const reply = await call("HEAD", path, { token: second() });
    assert.equal(reply.status, 404, path);
    assert.equal(reply.bytes.length, 0);
  }
});

test("another user's conversation cannot be listed", { skip }, async () => {
  const mine = await owned();
  const { conversation_id } = mine.person;
  await alike(conversation_id, async (id) => {
    const reply = await call("GET", `/v1/attachments?conversation_id=${id}`, { token: second() });
    problem(reply, 404, "conversation_not_found");
    return reply;
  });
});

for (const where of ["query", "before", "after"] as const) {
  const aim = (name: string, id: string) =>
    where === "query" ? { query: `?${name}=${id}` } : { [where]: [[name, id]] as [string, string][] };

  test(`nothing can be sent to another user's conversation or message, named by ${where}`, {
    skip,
  }, async () => {
    const mine = await owned();
    await alike(mine.person.conversation_id, async (id) => {
      const reply = await upload({ ...aim("conversation_id", id), token: second() });
      problem(reply, 404, "conversation_not_found");
      return reply;
    });
    await alike(mine.file.message_id, (id) => upload({ ...aim("message_id", id), token: second() }));
    await unchanged(mine);
  });
}

test("another user's file is 404 by one's own token, whatever the name in its URL", { skip }, async () => {
  const mine = await owned();
  const link = mine.file.file_url.replace(/\?.*/, "");
  await alike(mine.file.id, (id) => call("GET", link.replace(mine.file.id, id), { token: second() }));
  const wrong = `${link.slice(0, link.lastIndexOf("/"))}/other-name.txt`;
  problem(await call("GET", wrong, { token: second() }), 404);
  problem(await call("GET", `${link}?download=1`, { token: second() }), 404);
});

test("a list contains nothing of another user", { skip }, async () => {
  const { person, file } = await owned();
  const theirs = await newContact({}, second());
  const as = (path: string) => call("GET", path, { token: second() });
  const people = contacts(await as("/v1/contacts?limit=100")).data.map(({ id }) => id);
  assert.ok(people.includes(theirs.id) && !people.includes(person.id));
  const files = attachments(await as("/v1/attachments?limit=100")).data.map(({ id }) => id);
  assert.ok(!files.includes(file.id));
  const mine = (await walk("/v1/contacts?limit=100", contacts, "starting_after")).flat();
  assert.ok(mine.some(({ id }) => id === person.id) && !mine.some(({ id }) => id === theirs.id));
});

test("another user's id as a cursor reveals nothing", { skip }, async () => {
  const one = await owned();
  const two = await owned();
  const theirs = await newContact({}, second());
  for (const [path, cursor] of [
    ["contacts", one.person.id],
    ["attachments", one.file.id],
  ]) {
    for (const way of ["starting_after", "ending_before"]) {
      const reply = await call("GET", `/v1/${path}?limit=100&${way}=${cursor}`, { token: second() });
      assert.equal(reply.status, 200);
      for (const { id } of [one.person, one.file, two.person, two.file]) assert.ok(!reply.text.includes(id));
    }
  }
  const newer = await call("GET", `/v1/contacts?ending_before=${one.person.id}`, { token: second() });
  assert.ok(
    contacts(newer).data.some(({ id }) => id === theirs.id),
    "a cursor is an order key for every user",
  );
});

test("two users may each have a contact of the same username", { skip }, async () => {
  const mine = await newContact({ display_name: "mine" });
  const theirs = await newContact({ username: mine.username, display_name: "theirs" }, second());
  assert.notEqual(theirs.id, mine.id);
  assert.notEqual(theirs.conversation_id, mine.conversation_id);
  assert.equal((await call("DELETE", `/v1/contacts/${theirs.id}`, { token: second() })).status, 204);
  assert.deepEqual(contact(await call("GET", `/v1/contacts/${mine.id}`)), mine);
});

test("a delete affects only the user who deletes", { skip }, async () => {
  const mine = await owned();
  const theirs = await newContact({ username: mine.person.username }, second());
  const query = `?conversation_id=${theirs.conversation_id}`;
  const file = await newAttachment({ query, token: second() });
  await call("DELETE", `/v1/contacts/${theirs.id}`, { token: second() });
  problem(await call("GET", `/v1/attachments/${file.id}`, { token: second() }), 404);
  await unchanged(mine);
});
