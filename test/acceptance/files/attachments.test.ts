import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Attachment,
  attachment,
  attachments,
  call,
  faulty,
  form,
  fresh,
  isNow,
  json,
  location,
  newContact,
  problem,
  unknownLike,
  walk,
} from "../client.ts";
import { newAttachment, PNG, upload } from "../upload.ts";

/** A link may change with time; its target may not. */
function unlinked(item: Attachment): Attachment {
  return { ...item, file_url: item.file_url.replace(/\?.*/, "") };
}

/** Returns the ids of a conversation's attachments, which fit on one page. */
async function inside(conversation: string): Promise<string[]> {
  const page = attachments(await call("GET", `/v1/attachments?limit=100&conversation_id=${conversation}`));
  return page.data.map(({ id }) => id);
}

test("an upload answers 201 with its Location and the attachment", async () => {
  const reply = await upload({ name: "pixel.png", type: "image/png", bytes: PNG });
  const made = attachment(reply, 201);
  assert.equal(location(reply), `/v1/attachments/${made.id}`);
  assert.equal(made.filename, "pixel.png");
  assert.equal(made.file_type, "image/png");
  assert.equal(made.file_size, PNG.length);
  isNow(made.created_at);
});

test("a retrieved attachment equals the created one", async () => {
  const made = await newAttachment();
  assert.deepEqual(unlinked(attachment(await call("GET", `/v1/attachments/${made.id}`))), unlinked(made));
});

test("an empty file is accepted", async () => {
  const made = await newAttachment({ name: "empty.txt", bytes: "" });
  assert.equal(made.file_size, 0);
  const got = await call("GET", made.file_url, { token: null });
  assert.equal(got.status, 200);
  assert.equal(got.headers.get("content-length"), "0");
  assert.equal(got.bytes.length, 0);
});

test("an upload without a target becomes its own message in no contact's conversation", async () => {
  const { conversation_id } = await newContact();
  const [one, two] = [await newAttachment(), await newAttachment()];
  assert.notEqual(one.message_id, two.message_id);
  assert.deepEqual(await inside(conversation_id), []);
  const all = attachments(await call("GET", "/v1/attachments?limit=100")).data.map(({ id }) => id);
  assert.ok(all.includes(one.id) && all.includes(two.id));
});

for (const where of ["query", "before", "after"] as const) {
  const place = where === "query" ? "in the query" : `in a form field ${where} the file`;
  const aim = (name: string, value: string) =>
    where === "query" ? { query: `?${name}=${value}` } : { [where]: [[name, value]] as [string, string][] };

  test(`conversation_id ${place} selects the conversation, with a message for each upload`, async () => {
    const { conversation_id } = await newContact();
    const one = await newAttachment(aim("conversation_id", conversation_id));
    const two = await newAttachment(aim("conversation_id", conversation_id));
    assert.notEqual(one.message_id, two.message_id);
    assert.deepEqual(await inside(conversation_id), [two.id, one.id]);
  });

  test(`message_id ${place} adds the file to that message and its conversation`, async () => {
    const { conversation_id } = await newContact();
    const one = await newAttachment({ query: `?conversation_id=${conversation_id}` });
    const two = await newAttachment(aim("message_id", one.message_id));
    assert.equal(two.message_id, one.message_id);
    assert.deepEqual(await inside(conversation_id), [two.id, one.id]);
  });

  test(`an unknown or malformed conversation_id ${place} is 404 conversation_not_found`, async () => {
    const { conversation_id } = await newContact();
    for (const id of [unknownLike(conversation_id), "nonsense", "cnv_"]) {
      problem(await upload(aim("conversation_id", id)), 404, "conversation_not_found");
    }
  });

  test(`an unknown or malformed message_id ${place} is 404`, async () => {
    const { message_id, id: other } = await newAttachment();
    for (const id of [unknownLike(message_id), "nonsense", other]) {
      problem(await upload(aim("message_id", id)), 404);
    }
  });
}

test("conversation_id and message_id together are 400 anywhere, and nothing is stored", async () => {
  const { conversation_id } = await newContact();
  const { id, message_id } = await newAttachment({ query: `?conversation_id=${conversation_id}` });
  const conversation: [string, string] = ["conversation_id", conversation_id];
  const message: [string, string] = ["message_id", message_id];
  const ways = [
    { query: `?conversation_id=${conversation_id}&message_id=${message_id}` },
    { before: [conversation, message] },
    { after: [message, conversation] },
    { before: [conversation], after: [message] },
    { query: `?conversation_id=${conversation_id}`, before: [message] },
    { query: `?message_id=${message_id}`, after: [conversation] },
  ];
  for (const way of ways) problem(await upload(way), 400);
  assert.deepEqual(await inside(conversation_id), [id]);
});

test("a target given twice is 400 naming it anywhere, and nothing is stored", async () => {
  const { conversation_id } = await newContact();
  const { id, message_id } = await newAttachment({ query: `?conversation_id=${conversation_id}` });
  for (const [name, value] of [
    ["conversation_id", conversation_id],
    ["message_id", message_id],
  ] as [string, string][]) {
    const pair: [string, string] = [name, value];
    faulty(await upload({ query: `?${name}=${value}&${name}=${value}` }), name);
    faulty(await upload({ before: [pair, pair] }), name);
    faulty(await upload({ after: [pair, pair] }), name);
    faulty(await upload({ before: [pair], after: [pair] }), name);
    faulty(await upload({ query: `?${name}=${value}`, after: [pair] }), name);
  }
  assert.deepEqual(await inside(conversation_id), [id]);
});

test("an unknown field or query parameter of an upload is 400 naming it, and nothing is stored", async () => {
  const { conversation_id } = await newContact();
  const query = `?conversation_id=${conversation_id}`;
  for (const name of ["surprise", "filename", "id", "file_size", "__proto__", "constructor"]) {
    faulty(await upload({ query, before: [[name, "x"]] }), name);
    faulty(await upload({ query, after: [[name, "x"]] }), name);
    faulty(await upload({ query: `${query}&${name}=x` }), name);
  }
  assert.deepEqual(await inside(conversation_id), []);
});

test("a list by conversation has only its attachments, ten by default, newest first, with pages both ways", async () => {
  const { conversation_id } = await newContact();
  const query = `?conversation_id=${conversation_id}`;
  const ids: string[] = [];
  for (let at = 0; at < 12; at++) {
    ids.unshift((await newAttachment({ query })).id);
    if (at % 4 === 0) await newAttachment();
  }
  const path = `/v1/attachments${query}`;
  const first = attachments(await call("GET", path));
  assert.equal(first.has_more, true);
  assert.deepEqual(
    first.data.map(({ id }) => id),
    ids.slice(0, 10),
  );
  const older = await walk(`${path}&limit=5`, attachments, "starting_after");
  assert.deepEqual(
    older.map((page) => page.map(({ id }) => id)),
    [ids.slice(0, 5), ids.slice(5, 10), ids.slice(10)],
  );
  const newer = await walk(`${path}&limit=5`, attachments, "ending_before", ids[11]);
  assert.deepEqual(
    newer.map((page) => page.map(({ id }) => id)),
    [ids.slice(6, 11), ids.slice(1, 6), ids.slice(0, 1)],
  );
  const exact = attachments(await call("GET", `${path}&limit=12`));
  assert.equal(exact.has_more, false);
});

test("a list without a conversation has the attachments of all conversations, newest first", async () => {
  const [one, two] = [await newContact(), await newContact()];
  const ids: string[] = [];
  for (const query of [
    "",
    `?conversation_id=${one.conversation_id}`,
    `?conversation_id=${two.conversation_id}`,
  ]) {
    ids.unshift((await newAttachment({ query })).id, (await newAttachment({ query })).id);
  }
  const pages = await walk("/v1/attachments?limit=4", attachments, "starting_after");
  const listed = pages.flat().map(({ id }) => id);
  assert.deepEqual(listed.filter((id) => ids.includes(id)).toSorted(), ids.toSorted());
  assert.equal(new Set(listed).size, listed.length);
  assert.deepEqual(listed, listed.toSorted().reverse());
});

test("a list has each attachment in full, as when retrieved", async () => {
  const { conversation_id } = await newContact();
  const made = await newAttachment({ query: `?conversation_id=${conversation_id}`, name: "a b.txt" });
  const { data } = attachments(await call("GET", `/v1/attachments?conversation_id=${conversation_id}`));
  assert.deepEqual(data.map(unlinked), [unlinked(made)]);
});

test("a list by an unknown or malformed conversation is 404 conversation_not_found", async () => {
  const { conversation_id, id } = await newContact();
  for (const other of [unknownLike(conversation_id), "nonsense", "", id]) {
    problem(await call("GET", `/v1/attachments?conversation_id=${other}`), 404, "conversation_not_found");
  }
});

for (const [name, query] of [
  ["limit", "limit=0"],
  ["limit", "limit=101"],
  ["limit", "limit=ten"],
  ["limit", "limit=2&limit=2"],
  ["starting_after", "starting_after=nonsense"],
  ["ending_before", "ending_before=nonsense"],
  ["surprise", "surprise=1"],
  ["message_id", "message_id=x"],
]) {
  test(`attachments listed with ${query} are 400 naming ${name}`, async () => {
    faulty(await call("GET", `/v1/attachments?${query}`), name ?? "");
  });
}

test("both cursors at once, or a conversation given twice, are 400", async () => {
  const { conversation_id } = await newContact();
  const query = `conversation_id=${conversation_id}`;
  const { id } = await newAttachment({ query: `?${query}` });
  problem(await call("GET", `/v1/attachments?starting_after=${id}&ending_before=${id}`), 400);
  faulty(await call("GET", `/v1/attachments?${query}&${query}`), "conversation_id");
});

for (const [encoding, body] of [
  ["a form", form],
  ["JSON", json],
] as const) {
  test(`a rename by ${encoding} changes only filename and file_url, and the old URL redirects to the new one`, async () => {
    const made = await newAttachment({ name: "old name.png", type: "image/png", bytes: PNG });
    const filename = "new name & more.bin";
    const renamed = attachment(await call("PUT", `/v1/attachments/${made.id}`, body({ filename })));
    assert.deepEqual({ ...renamed, file_url: "" }, { ...made, filename, file_url: "" });
    const got = attachment(await call("GET", `/v1/attachments/${made.id}`));
    assert.deepEqual(unlinked(got), unlinked(renamed));
    const old = await call("GET", made.file_url, { token: null });
    assert.equal(old.status, 308);
    const path = location(old);
    assert.equal(path.replace(/\?.*/, ""), new URL(renamed.file_url).pathname);
    assert.deepEqual((await call("GET", new URL(path, made.file_url).href, { token: null })).bytes, PNG);
    assert.deepEqual((await call("GET", renamed.file_url, { token: null })).bytes, PNG);
  });
}

test("a rename without fields changes nothing and answers 200", async () => {
  const made = await newAttachment({ name: "stays.txt" });
  for (const options of [{}, form({}), json({})]) {
    const reply = await call("PUT", `/v1/attachments/${made.id}`, options);
    assert.deepEqual(unlinked(attachment(reply)), unlinked(made));
  }
});

test("a rename accepts only filename, once, as text: else 400 naming the field", async () => {
  const made = await newAttachment();
  const path = `/v1/attachments/${made.id}`;
  for (const field of ["id", "message_id", "file_url", "file_type", "file_size", "created_at", "surprise"]) {
    for (const options of [form({ [field]: "x" }), json({ filename: "x", [field]: "x" })]) {
      const { detail } = faulty(await call("PUT", path, options), field);
      assert.match(detail, /filename/, "the detail should say what is accepted");
    }
  }
  for (const wrong of [null, 1, true, ["a"], {}]) {
    faulty(await call("PUT", path, json({ filename: wrong })), "filename");
  }
  faulty(await call("PUT", path, form("filename=a&filename=b")), "filename");
  faulty(await call("PUT", path, json('{"filename":"a","filename":"a"}')), "filename");
  faulty(await call("PUT", `${path}?filename=x`), "filename");
  assert.deepEqual(unlinked(attachment(await call("GET", path))), unlinked(made));
});

test("deleting an attachment answers 204 without a body, then its resource and file are 404", async () => {
  const { conversation_id } = await newContact();
  const query = `?conversation_id=${conversation_id}`;
  const [made, kept] = [await newAttachment({ query }), await newAttachment({ query })];
  const path = `/v1/attachments/${made.id}`;
  const reply = await call("DELETE", path);
  assert.equal(reply.status, 204);
  assert.equal(reply.bytes.length, 0);
  for (const method of ["DELETE", "GET", "PUT"]) problem(await call(method, path), 404);
  problem(await call("GET", made.file_url, { token: null }), 404);
  problem(await call("GET", made.file_url.replace(/\?.*/, "")), 404);
  assert.deepEqual(await inside(conversation_id), [kept.id]);
  assert.equal((await call("GET", kept.file_url, { token: null })).status, 200);
});

test("deleting one file of a message keeps the others", async () => {
  const one = await newAttachment();
  const two = await newAttachment({ query: `?message_id=${one.message_id}` });
  await call("DELETE", `/v1/attachments/${one.id}`);
  assert.equal(attachment(await call("GET", `/v1/attachments/${two.id}`)).message_id, one.message_id);
});

test("deleting a contact deletes the conversation, its attachments and their files: 404", async () => {
  const person = await newContact();
  const query = `?conversation_id=${person.conversation_id}`;
  const [one, two, elsewhere] = [
    await newAttachment({ query }),
    await newAttachment({ query }),
    await newAttachment(),
  ];
  assert.equal((await call("DELETE", `/v1/contacts/${person.id}`)).status, 204);
  for (const made of [one, two]) {
    for (const method of ["GET", "PUT", "DELETE"]) {
      problem(await call(method, `/v1/attachments/${made.id}`), 404);
    }
    problem(await call("GET", made.file_url, { token: null }), 404);
    problem(await call("GET", made.file_url.replace(/\?.*/, "")), 404);
  }
  problem(await call("GET", `/v1/attachments${query}`), 404, "conversation_not_found");
  problem(await upload({ query }), 404, "conversation_not_found");
  problem(await upload({ query: `?message_id=${one.message_id}` }), 404);
  const all = (await walk("/v1/attachments?limit=100", attachments, "starting_after"))
    .flat()
    .map(({ id }) => id);
  assert.ok(!all.includes(one.id) && !all.includes(two.id) && all.includes(elsewhere.id));
  const again = await newContact({ username: person.username });
  assert.deepEqual(await inside(again.conversation_id), []);
});

test("a malformed attachment id answers like an unknown one", async () => {
  const made = await newAttachment();
  const ids = [
    unknownLike(made.id),
    "nonsense",
    "att_",
    made.id.toUpperCase(),
    made.message_id,
    "x".repeat(3000),
  ];
  const bodies = new Set<string>();
  for (const id of ids) {
    for (const method of ["GET", "PUT", "DELETE"]) {
      const { request_id, ...rest } = problem(await call(method, `/v1/attachments/${id}`), 404);
      assert.ok(request_id);
      bodies.add(JSON.stringify(rest));
    }
  }
  assert.equal(bodies.size, 1, [...bodies].join("\n"));
});

test("HEAD answers like GET without a body, for an attachment and for the list", async () => {
  const { conversation_id } = await newContact();
  const made = await newAttachment({
    query: `?conversation_id=${conversation_id}`,
    name: `${fresh("head")}.txt`,
  });
  for (const path of [`/v1/attachments/${made.id}`, `/v1/attachments?conversation_id=${conversation_id}`]) {
    const [head, got] = [await call("HEAD", path), await call("GET", path)];
    assert.equal(head.status, 200);
    assert.equal(head.bytes.length, 0);
    for (const name of ["content-type", "content-length"]) {
      assert.equal(head.headers.get(name), got.headers.get(name));
    }
  }
});
