// `parley check` and contacts without a conversation, which older releases create next to newer ones.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Site, startSite } from "../search/search-site.ts";

interface Contact {
  id: string;
  conversation_id: string;
}

async function ask<T>(
  { command }: Site,
  headers: Record<string, string>,
  path: string,
  fields?: object,
): Promise<T> {
  const body = fields && { method: "POST", body: JSON.stringify(fields) };
  const json = { ...headers, ...(fields ? { "content-type": "application/json" } : {}) };
  const answer = await fetch(command.url + path, { headers: json, ...body });
  assert.ok(answer.ok, `${path}: ${answer.status}`);
  return (await answer.json()) as T;
}

for (const engine of ["sqlite", "postgres"] as const) {
  test(`${engine}: parley check finds contacts without a conversation, and --repair-contacts adds an empty one`, async (t) => {
    const [site] = await startSite(t, engine);
    const { headers, command } = site;
    const create = (who: Record<string, string>, username: string) =>
      ask<Contact>(site, who, "/v1/contacts", { username, phone_number: "555" });
    const send = (who: Record<string, string>, conversation_id: string, text: string) =>
      ask(site, who, "/v1/messages", { conversation_id, text });
    const textsIn = async (conversation_id: string) => {
      const path = `/v1/messages?conversation_id=${conversation_id}`;
      const page = await ask<{ data: { text: string }[] }>(site, headers, path);
      return page.data.map(({ text }) => text);
    };
    assert.equal((await command.run("user", "add", "bob")).code, 0);
    const token = (await command.run("token", "create", "bob")).stdout.trim();
    const bob = { authorization: `Bearer ${token}` };
    const [whole, unlinked, missing] = [
      await create(headers, "a"),
      await create(headers, "b"),
      await create(headers, "bob"),
    ];
    await create(bob, "admin");
    await send(bob, missing.conversation_id, "before");
    // Rows of older releases, and rows that no release writes.
    await site.change(`UPDATE members SET contact_id = NULL WHERE contact_id = '${unlinked.id}'`);
    await site.change(`DELETE FROM members WHERE contact_id = '${missing.id}'`);
    const found = await command.run("check");
    assert.equal(found.code, 1);
    for (const { id } of [unlinked, missing])
      assert.ok(found.stdout.includes(`The row ${id} of contacts has no conversation.\n`), found.stdout);
    assert.match(found.stdout, /parley check --repair-contacts\.\n/);
    assert.ok(!found.stdout.includes(whole.id));
    const repaired = await command.run("check", "--repair-contacts");
    assert.deepEqual([repaired.code, repaired.stdout], [0, "Repaired 2 contacts.\n"], repaired.stderr);
    const again = await command.run("check");
    assert.equal(again.code, 0, again.stdout);
    assert.deepEqual(await textsIn(missing.conversation_id), []);
    for (const { conversation_id } of [unlinked, missing]) {
      await send(headers, conversation_id, "after");
      assert.deepEqual(await textsIn(conversation_id), ["after"]);
    }
    const none = await command.run("check", "--repair-contacts", "--json");
    assert.deepEqual(JSON.parse(none.stdout), { kind: "summary", repaired: "contacts", contacts: 0 });
  });

  test(`${engine}: parley check finds two users' contacts of each other in different conversations`, async (t) => {
    const [site] = await startSite(t, engine);
    const { headers, command } = site;
    assert.equal((await command.run("user", "add", "bob")).code, 0);
    const token = (await command.run("token", "create", "bob")).stdout.trim();
    const fields = { phone_number: "555" };
    const mine = await ask<Contact>(site, headers, "/v1/contacts", { username: "bob", ...fields });
    const theirs = await ask<Contact>(site, { authorization: `Bearer ${token}` }, "/v1/contacts", {
      username: "admin",
      ...fields,
    });
    await site.change(`UPDATE contacts SET conversation_id = 'cnv_other' WHERE id = '${theirs.id}'`);
    await site.change(`UPDATE members SET conversation_id = 'cnv_other' WHERE contact_id = '${theirs.id}'`);
    const found = await command.run("check");
    assert.equal(found.code, 1);
    for (const { id } of [mine, theirs])
      assert.ok(
        found.stdout.includes(`The row ${id} of contacts has another conversation than`),
        found.stdout,
      );
  });
}
