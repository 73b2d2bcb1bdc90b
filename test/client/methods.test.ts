// Runs every method of the client against a real server.
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import {
  etagOf,
  type List,
  type Message,
  Parley,
  type UploadProgress,
} from "../../packages/parley-client/src/index.ts";
import { SCOPES } from "../../src/core/people/tokens.ts";
import { startApp, startOn } from "../support/app.ts";
import { type Fate, proxy } from "../support/proxy.ts";
import { receiver } from "../support/receiver.ts";
import { unzip } from "../support/zip.ts";
import { clientOf, onEngines } from "./engines.ts";
import { failure } from "./failure.ts";

onEngines("contacts", async (t, config) => {
  const { contacts } = await clientOf(await startOn(t, config));
  const ada = await contacts.create({ username: "ada", phone_number: "555-0100", display_name: "Ada" });
  assert.deepEqual([ada.username, ada.phone_number, ada.display_name], ["ada", "555-0100", "Ada"]);
  assert.deepEqual(await contacts.retrieve(ada.id), ada);
  const renamed = await contacts.update(ada.id, { display_name: null });
  assert.deepEqual(renamed, { ...ada, display_name: null });
  await contacts.create({ username: "grace", phone_number: "555-0101" });
  assert.deepEqual(await contacts.list({ username: "ADA" }), { has_more: false, data: [renamed] });
  assert.equal(await contacts.block(ada.id), undefined);
  assert.deepEqual((await contacts.list({ active: false })).data, [renamed]);
  assert.equal(await contacts.unblock(ada.id), undefined);
  assert.deepEqual((await contacts.list({ active: false })).data, []);
  assert.equal((await contacts.list({ q: "gr", phone_number: "5550101", active: true })).data.length, 1);
  assert.equal((await contacts.list({ q: "550101" })).data.length, 1);
  assert.equal(await contacts.delete(ada.id), undefined);
  assert.equal((await failure(contacts.retrieve(ada.id))).code, "contact_not_found");
});

onEngines("attachments", async (t, config) => {
  const { attachments, contacts } = await clientOf(await startOn(t, config));
  const { conversation_id } = await contacts.create({ username: "ada", phone_number: "555-0100" });
  const first = await attachments.upload(new File(["first"], "first.txt"), { conversation_id });
  const second = await attachments.upload(new File(["second"], "second.txt"), {
    message_id: first.message_id,
  });
  assert.equal(second.message_id, first.message_id);
  const note = await attachments.upload(new File(["note"], "note.txt"));
  assert.deepEqual(await attachments.retrieve(first.id), first);
  assert.deepEqual(await attachments.list({ conversation_id }), { has_more: false, data: [second, first] });
  assert.deepEqual((await attachments.list({ limit: 1 })).data, [note]);
  const { sender, ...rest } = await attachments.retrieve(note.id, { include: "sender" });
  assert.deepEqual(rest, note);
  assert.match(sender!.id, /^usr_/);
  assert.deepEqual((await attachments.list({ limit: 1, include: "sender" })).data, [{ ...note, sender }]);
  assert.deepEqual((await attachments.list({ conversation_id, q: "TXT sec" })).data, [second]);
  const renamed = await attachments.update(first.id, { filename: "renamed.txt" });
  assert.equal(renamed.filename, "renamed.txt");
  assert.equal(await (await (await attachments.download(renamed)).blob()).text(), "first");
  assert.equal(await attachments.delete(first.id), undefined);
  assert.equal((await failure(attachments.retrieve(first.id))).code, "attachment_not_found");
});

onEngines("uploads", async (t, config) => {
  const { attachments, contacts, uploads } = await clientOf(await startOn(t, config));
  const { conversation_id } = await contacts.create({ username: "ada", phone_number: "555-0100" });
  const upload = await uploads.create({ filename: "a.txt", conversation_id, length: 4 });
  assert.deepEqual([upload.offset, upload.length, upload.attachment_id], [0, 4, null]);
  assert.equal(await uploads.append(upload.id, Buffer.from("ab"), { offset: 0, isLast: false }), undefined);
  const begun = await uploads.retrieve(upload.id);
  assert.equal(begun.offset, 2);
  assert.deepEqual(await uploads.list({ limit: 5 }), { has_more: false, data: [begun] });
  const late = uploads.append(upload.id, Buffer.from("b"), { offset: 1, isLast: false });
  assert.equal((await failure(late)).code, "upload_offset_mismatch");
  const file = await uploads.append(upload.id, new Blob(["cd"]), { offset: 2, isLast: true });
  assert.deepEqual((await attachments.list({ conversation_id })).data, [file]);
  assert.equal(await (await (await attachments.download(file!)).blob()).text(), "abcd");
  assert.equal(await uploads.delete(upload.id), undefined);
  assert.equal((await failure(uploads.retrieve(upload.id))).code, "upload_not_found");
  const ids: string[] = [];
  const sent = await uploads.send(new File(["whole"], "b.txt"), { onStart: (id) => ids.push(id) });
  assert.equal(await (await (await attachments.download(sent)).blob()).text(), "whole");
  // It is already complete.
  assert.deepEqual(await uploads.send(new File(["whole"], "b.txt"), { resume: ids[0] }), sent);
});

onEngines("archives", async (t, config) => {
  const { archives, attachments, contacts } = await clientOf(await startOn(t, config));
  const { conversation_id } = await contacts.create({ username: "ada", phone_number: "555-0100" });
  const [first, second] = [
    await attachments.upload(new File(["first"], "a.txt"), { conversation_id }),
    await attachments.upload(new File(["second"], "a.txt")),
  ];
  const archive = await archives.create({ attachment_ids: [first.id, second.id] });
  assert.deepEqual([archive.file_count, archive.expires_at > 0], [2, true]);
  const reports: number[] = [];
  const download = await archives.download(archive, { onProgress: ({ received }) => reports.push(received) });
  assert.deepEqual(
    [download.filename, download.size, download.type],
    [archive.filename, archive.size, "application/zip"],
  );
  const files = unzip(Buffer.from(await (await download.blob()).arrayBuffer()));
  assert.deepEqual(
    files.map(({ name, bytes }) => [name, String(bytes)]),
    [
      ["a.txt", "first"],
      ["a (2).txt", "second"],
    ],
  );
  assert.deepEqual([reports[0], reports.at(-1)], [0, archive.size]);
  const ofConversation = await archives.download({ conversation_id });
  assert.equal(unzip(Buffer.from(await (await ofConversation.blob()).arrayBuffer())).length, 1);
  const gone = archives.create({ attachment_ids: ["att_01h455vb4pex5vsknk084sn02q"] });
  assert.equal((await failure(gone)).code, "attachment_not_found");
});

onEngines("messages", async (t, config) => {
  const parley = await clientOf(await startOn(t, config));
  const { messages } = parley;
  const { id: me, conversation_id } = await parley.me();
  const hello = await messages.create({ conversation_id, text: "hello", mentions: [me], client_id: "1" });
  assert.deepEqual(await messages.retrieve(hello.id), hello);
  const files = [new File(["first"], '"ä\'".txt'), new File([new Uint8Array(100_000)], "second.bin")];
  const reports: UploadProgress[] = [];
  const withFiles = await messages.create(
    { conversation_id, text: "zwei\nDateien", data: { a: 1 }, mentions: [me, me], reply_to_id: hello.id },
    { files, onProgress: (progress) => reports.push(progress) },
  );
  assert.deepEqual(
    withFiles.attachments.map(({ filename, file_size }) => [filename, file_size]),
    files.map(({ name, size }) => [name, size]),
  );
  const { text, data, mentions, reply_to_id } = withFiles;
  assert.deepEqual([text, data, mentions, reply_to_id], ["zwei\nDateien", { a: 1 }, [me], hello.id]);
  assert.deepEqual(
    [reports[0], reports.at(-1)],
    [0, 100_005].map((sent) => ({ sent, total: 100_005 })),
  );
  assert.equal(
    await (await (await parley.attachments.download(withFiles.attachments[0]!)).blob()).text(),
    "first",
  );
  assert.deepEqual(await messages.list({ conversation_id }), { has_more: false, data: [withFiles, hello] });
  const around = await messages.list({ conversation_id, around: hello.id, limit: 1 });
  assert.deepEqual(around.data, [hello]);
  const older = await Array.fromAsync(messages.list({ conversation_id, around: withFiles.id, limit: 1 }));
  assert.deepEqual(older, [withFiles, hello]);
  const edited = await messages.update(hello.id, { text: "edited" }, { ifMatch: etagOf(hello) });
  assert.equal(edited.text, "edited");
  for (const emoji of ["👍", "/", "👍"]) assert.equal(await messages.addReaction(hello.id, emoji), undefined);
  assert.equal(await messages.removeReaction(hello.id, "👍"), undefined);
  assert.deepEqual((await messages.retrieve(hello.id)).reactions, [{ emoji: "/", count: 1, user_ids: [me] }]);
  const hidden = await messages.create({ conversation_id, text: "hidden" });
  assert.equal(await messages.delete(hidden.id, { for: "me", ifMatch: etagOf(hidden) }), undefined);
  assert.equal((await failure(messages.retrieve(hidden.id))).code, "message_not_found");
  assert.equal(await messages.delete(hello.id), undefined);
  assert.equal((await failure(messages.retrieve(hello.id))).code, "message_not_found");
});

onEngines("a search goes through all pages, also those without hits", async (t, config) => {
  const server = await startOn(t, config);
  const { token } = await server.user();
  const parley = new Parley({ url: server.url, token });
  const { messages } = parley;
  const { conversation_id: notes } = await parley.me();
  const { conversation_id } = await parley.contacts.create({ username: "ada", phone_number: "555-0100" });
  for (const text of ["green tea", "black tea", "coffee", "teapot"])
    await messages.create({ conversation_id, text });
  await messages.create({ conversation_id: notes, text: "buy tea" });
  const texts = (found: Message[]) => found.map(({ text }) => text);
  const all = ["buy tea", "teapot", "black tea", "green tea"];
  assert.deepEqual(texts((await messages.search({ q: "tea" })).data), all);
  assert.deepEqual(texts((await messages.search({ q: "tea", conversation_id })).data), all.slice(1));
  const first = await messages.search({ q: "tea", limit: 2 });
  assert.equal(first.has_more, true);
  const link = `<${server.url}/v1/messages?q=tea&limit=2&starting_after=${first.data[1]!.id}>; rel="next"`;
  const empty: Fate = { status: 200, headers: { link }, body: '{"has_more":true,"data":[]}' };
  const between = await proxy(t, server.url, (_path, { length }) => (length === 1 ? empty : "pass"));
  const through = new Parley({ url: between.url, token });
  assert.deepEqual(texts(await Array.fromAsync(through.messages.search({ q: "tea", limit: 2 }))), all);
  assert.equal(between.seen.length, 3);
  const back = messages.search({ q: "tea", limit: 1, ending_before: first.data[1]!.id });
  assert.deepEqual(texts(await Array.fromAsync(back)), ["buy tea"]);
  assert.equal((await failure(messages.search({ q: "?" }))).param, "q");
});

onEngines("conversations", async (t, config) => {
  const { contacts, conversations, messages } = await clientOf(await startOn(t, config));
  const { conversation_id } = await contacts.create({ username: "ada", phone_number: "555-0100" });
  const { id: message_id } = await messages.create({ conversation_id, text: "hello" });
  const known = await conversations.retrieve(conversation_id);
  assert.deepEqual([known.kind, known.name, known.last_message?.id], ["contact", "ada", message_id]);
  const ifMatch = etagOf(known);
  const muted = await conversations.update(conversation_id, { muted_until: 2e9 }, { ifMatch });
  assert.deepEqual(muted, { ...known, muted_until: 2e9 });
  const stale = conversations.update(conversation_id, { is_pinned: true }, { ifMatch });
  assert.equal((await failure(stale)).code, "precondition_failed");
  assert.equal(await conversations.markRead(conversation_id, { message_id, private: true }), undefined);
  assert.equal(await conversations.typing(conversation_id), undefined);
  assert.deepEqual((await conversations.list({ kind: "contact" })).data, [muted]);
});

onEngines("blocks", async (t, config) => {
  const { blocks } = await clientOf(await startOn(t, config));
  for (const name of ["zoë/?#", "Ada", "50%"]) assert.equal(await blocks.create(name), undefined);
  const names = async (list: List<{ username: string }>) =>
    (await Array.fromAsync(list)).map(({ username }) => username);
  assert.deepEqual(await names(blocks.list({ limit: 1 })), ["50%", "Ada", "zoë/?#"]);
  assert.deepEqual(await names(blocks.list({ limit: 1, ending_before: "zoë/?#" })), ["Ada", "50%"]);
  assert.equal(await blocks.delete("ADA"), undefined);
  assert.deepEqual(await names(blocks.list()), ["50%", "zoë/?#"]);
});

onEngines("groups and their members are managed", async (t, config) => {
  const server = await startOn(t, config);
  const [ann, bob] = [await clientOf(server), await clientOf(server)];
  const { username: annsName } = await ann.me();
  const { username, id: user_id } = await bob.me();
  await bob.contacts.create({ username: annsName, phone_number: "555-0100" });
  const { groups } = ann;
  const made = await groups.create({ name: "Climbing", history: "all", members: [username, "nobody"] });
  assert.deepEqual([made.name, made.history, made.role, made.member_count], ["Climbing", "all", "admin", 1]);
  assert.deepEqual(await groups.retrieve(made.id), made);
  const invitation = (await bob.groups.list()).data[0]!;
  assert.deepEqual(
    [invitation.id, invitation.role, invitation.conversation_id, invitation.invited_by?.username],
    [made.id, "invited", null, annsName],
  );
  const joined = await bob.groups.join(made.id);
  assert.deepEqual([joined.role, joined.conversation_id], ["member", made.conversation_id]);
  const listed = await Array.fromAsync(groups.listMembers(made.id, { limit: 1 }));
  assert.deepEqual(
    listed.map((member) => [member.username, member.role]),
    [
      ["nobody", "invited"],
      [username, "member"],
      [annsName, "admin"],
    ],
  );
  const [nobody, member] = listed;
  const known = await groups.retrieve(made.id);
  const renamed = await groups.update(made.id, { name: "Bouldering" }, { ifMatch: etagOf(known) });
  assert.deepEqual(renamed, { ...known, name: "Bouldering" });
  const promoted = await groups.updateMember(made.id, member!.id, { role: "admin" });
  assert.deepEqual(promoted, { ...member, user_id, role: "admin" });
  assert.deepEqual(await groups.retrieveMember(made.id, member!.id), promoted);
  assert.equal((await groups.inviteMember(made.id, { username: "NOBODY" })).id, nobody!.id);
  assert.equal(await bob.groups.removeMember(made.id, nobody!.id), undefined);
  assert.equal((await failure(groups.removeMember(made.id, nobody!.id))).code, "member_not_found");
  assert.equal(await bob.groups.leave(made.id), undefined);
  assert.equal((await failure(bob.groups.listMembers(made.id))).code, "group_not_found");
  assert.deepEqual((await groups.list({ limit: 1 })).data, [{ ...renamed, member_count: 1 }]);
});

test("an inbox continues after a page without a match, in both directions", async (t) => {
  const server = await startApp(t);
  const parley = await clientOf(server);
  const { id: me, conversation_id: notes } = await parley.me();
  // One request examines 1,000 conversations.
  const db = new DatabaseSync(join(server.config.dataFolder, "parley.db"));
  const insertPlace = db.prepare("INSERT INTO places (user_id, conversation_id, position) VALUES (?, ?, ?)");
  const insertMember = db.prepare(
    "INSERT INTO members (user_id, conversation_id, group_id, joined_at) VALUES (?, ?, ?, 1)",
  );
  db.exec("BEGIN");
  for (let i = 0; i <= 2500; i++) {
    const position = `7${String(i).padStart(25, "0")}`;
    insertPlace.run(me, `cnv_${position}`, position);
    insertMember.run(me, `cnv_${position}`, i < 2500 ? `grp_${position}` : null);
  }
  db.exec("COMMIT");
  db.close();
  const top = `cnv_7${"2500".padStart(25, "0")}`;
  const ids = async (query: { ending_before?: string }) => {
    const found = await Array.fromAsync(parley.conversations.list({ ...query, kind: "self" }));
    return found.map(({ id }) => id);
  };
  assert.deepEqual(await ids({}), [top, notes]);
  assert.deepEqual(await ids({ ending_before: "0".repeat(26) }), [notes, top]);
});

onEngines("webhooks", async (t, config) => {
  const to = await receiver(t);
  const server = await startOn(t, { ...config, limits: { ...config.limits, webhooksAllowPrivate: true } });
  const { webhooks } = await clientOf(server);
  const { secret, ...made } = await webhooks.create({ url: to.url, events: ["contact.created"] });
  assert.match(secret, /^whsec_/);
  assert.deepEqual(await webhooks.retrieve(made.id), made);
  assert.deepEqual(await webhooks.list(), { has_more: false, data: [made] });
  const { secret: second } = await webhooks.rotateSecret(made.id);
  assert.notEqual(second, secret);
  const tested = await webhooks.test(made.id);
  await to.wait(1);
  assert.equal(tested.type, "webhook.test");
  const { data } = await webhooks.listDeliveries(made.id, { limit: 5 });
  assert.deepEqual(
    data.map(({ id }) => id),
    [tested.id],
  );
  assert.equal((await webhooks.redeliver(made.id, tested.id)).id, tested.id);
  await to.wait(2);
  assert.equal((await webhooks.update(made.id, { enabled: false })).enabled, false);
  assert.equal(await webhooks.delete(made.id), undefined);
  assert.equal((await failure(webhooks.retrieve(made.id))).code, "webhook_not_found");
});

onEngines("push subscriptions are created, listed and deleted", async (t, config) => {
  const parley = await clientOf(await startOn(t, config));
  const { pushSubscriptions } = parley;
  assert.match((await parley.me()).push_public_key, /^B[\w-]{86}$/);
  const keys = {
    // From RFC 8291, section 5.
    p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
    auth: "BTBZMqHH6r4Tts7J_aSIgg",
  };
  const made = await pushSubscriptions.create({ endpoint: "https://push.invalid/a", ...keys });
  assert.deepEqual(await pushSubscriptions.create({ endpoint: "https://push.invalid/a", ...keys }), made);
  assert.deepEqual(await pushSubscriptions.retrieve(made.id), made);
  assert.deepEqual(await pushSubscriptions.list({ limit: 5 }), { has_more: false, data: [made] });
  assert.equal(await pushSubscriptions.delete(made.id), undefined);
  assert.equal((await failure(pushSubscriptions.retrieve(made.id))).code, "push_subscription_not_found");
});

onEngines("users, tokens, the audit trail and the caller are read and managed", async (t, config) => {
  const server = await startOn(t, config);
  const parley = await clientOf(server, {}, { scopes: SCOPES });
  const { users, tokens, audit } = parley;
  const alan = await users.create({ username: "alan", display_name: "Alan" });
  assert.deepEqual(await users.retrieve(alan.id), { ...alan, unread_conversations: 0, identities: [] });
  assert.deepEqual(await users.list({ username: "alan" }), { has_more: false, data: [alan] });
  const { token, ...shown } = await tokens.create({
    user_id: alan.id,
    scopes: ["contacts:read"],
    name: "phone",
  });
  assert.deepEqual(await tokens.retrieve(shown.id), shown);
  assert.deepEqual((await tokens.list({ user_id: alan.id })).data, [shown]);
  const his = new Parley({ url: `${server.url}/`, token: async () => token });
  const named = await users.update(alan.id, { display_name: "Alan T." }, { ifMatch: etagOf(alan) });
  assert.deepEqual(named, { ...alan, display_name: "Alan T.", unread_conversations: 0, identities: [] });
  const { identities } = await users.update(alan.id, { subject: "7", issuer: "https://login.example" });
  assert.deepEqual(identities, [{ issuer: "https://login.example", subject: "7" }]);
  const updated = await his.updateMe({ display_name: null, data: { theme: "dark" } });
  assert.deepEqual([updated.display_name, updated.data], [null, { theme: "dark" }]);
  const me = await his.me();
  assert.deepEqual([me.id, me.token_id, me.scopes], [alan.id, shown.id, ["contacts:read"]]);
  assert.equal((await failure(his.users.list())).code, "insufficient_scope");
  assert.equal(await tokens.delete(shown.id), undefined);
  assert.equal((await failure(tokens.retrieve(shown.id))).code, "token_not_found");
  assert.equal(await users.delete(alan.id), undefined);
  const { data } = await audit.list({ limit: 2 });
  assert.deepEqual(
    data.map(({ action, object_id }) => [action, object_id]),
    [
      ["user.deleted", alan.id],
      ["token.revoked", shown.id],
    ],
  );
});

test("a change with an outdated version is refused", async (t) => {
  const { contacts } = await clientOf(await startApp(t));
  const ada = await contacts.create({ username: "ada", phone_number: "555-0100" });
  const known = await contacts.retrieve(ada.id);
  const ifMatch = etagOf(known);
  assert.ok(ifMatch);
  const changed = await contacts.update(ada.id, { display_name: "Ada" }, { ifMatch });
  assert.equal((await failure(contacts.update(ada.id, { display_name: "A" }, { ifMatch }))).status, 412);
  assert.equal((await failure(contacts.delete(ada.id, { ifMatch }))).code, "precondition_failed");
  await contacts.delete(ada.id, { ifMatch: etagOf(changed) });
  assert.equal(etagOf({}), undefined);
});

onEngines("lists continue over pages in both directions", async (t, config) => {
  const { contacts } = await clientOf(await startOn(t, config));
  const made: string[] = [];
  for (let i = 0; i < 23; i++) {
    made.push((await contacts.create({ username: `friend ${i}`, phone_number: "555-0100" })).id);
  }
  const idsOf = async (list: List<{ id: string }>) => {
    const ids: string[] = [];
    for await (const { id } of list) ids.push(id);
    return ids;
  };
  const newestFirst = made.toReversed();
  assert.deepEqual(await idsOf(contacts.list()), newestFirst);
  assert.deepEqual(await idsOf(contacts.list({ limit: 10 })), newestFirst);
  assert.deepEqual(await idsOf(contacts.list({ limit: 23 })), newestFirst);
  assert.deepEqual(await idsOf(contacts.list({ limit: 3, starting_after: made[20]! })), newestFirst.slice(3));
  assert.deepEqual(await idsOf(contacts.list({ limit: 3, ending_before: made[3]! })), made.slice(4));
  assert.deepEqual(await idsOf(contacts.list({ username: "nobody" })), []);
  const page = await contacts.list({ limit: 10 });
  assert.deepEqual([page.has_more, page.data.map(({ id }) => id)], [true, newestFirst.slice(0, 10)]);
  const both = await Promise.all([contacts.list({ limit: 1 }), contacts.list({ q: "nobody" })]);
  assert.deepEqual(
    both.map(({ data }) => data.length),
    [1, 0],
  );
});
