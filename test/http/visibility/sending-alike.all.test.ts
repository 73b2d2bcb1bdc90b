// A sender's actions cost the same statements, round trips and transactions whatever the others have done, so that
// timing reveals nothing.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { upload } from "../../support/app.ts";
import { type Counted, startCounted } from "../../support/engines/counting.ts";
import type { Counts } from "../../support/engines/postgres-proxy.ts";
import { add, type Person, person, read, say, send } from "../../support/people.ts";

/** Names of equal length, by what the user is to the sender. */
const KINDS = ["receiver", "blocking", "departed", "muting00", "unjoined"] as const;
type Kind = (typeof KINDS)[number];

/** A conversation of bob with a user of that kind. */
interface Talk {
  kind: Kind;
  where: "direct" | "group";
  id: string;
  other: Person;
}

async function done(answering: Promise<Response>): Promise<void> {
  const answer = await answering;
  assert.ok(answer.ok, `${answer.url}: ${answer.status} ${await answer.text()}`);
}

async function startTalks({ server }: Counted, bob: Person): Promise<Talk[]> {
  const talks: Talk[] = [];
  for (const kind of KINDS) {
    const other = await person(server, kind);
    const direct = (await add(server, bob, kind)).conversation_id;
    const theirs = kind === "unjoined" ? undefined : await add(server, other, "bob");
    const group = await read<{ id: string; conversation_id: string }>(
      send(server, bob, "POST", "/v1/groups", { name: "x", members: [kind] }),
      201,
    );
    if (kind !== "unjoined") await done(send(server, other, "POST", `/v1/groups/${group.id}/join`));
    for (const id of [direct, group.conversation_id]) {
      await say(server, bob, id, "before");
      if (kind === "muting00")
        await done(send(server, other, "PUT", `/v1/conversations/${id}`, { muted_until: 4_000_000_000 }));
    }
    if (kind === "blocking") await done(send(server, other, "PUT", "/v1/blocks/bob"));
    if (kind === "departed") {
      await done(send(server, other, "DELETE", `/v1/contacts/${theirs!.id}`));
      await done(send(server, other, "DELETE", `/v1/groups/${group.id}`));
    }
    talks.push({ kind, where: "direct", id: direct, other });
    talks.push({ kind, where: "group", id: group.conversation_id, other });
  }
  return talks;
}

/** Does one action of the sender in the conversation, and counts its cost. */
async function act(
  { server, count }: Counted,
  bob: Person,
  { kind, id: conversation_id, other }: Talk,
  least: Record<string, Counts>,
): Promise<void> {
  const does = (name: string, method: string, path: string, body?: object) =>
    count(least, name, () => done(send(server, bob, method, path, body)));
  const sends = (name: string, fields: object = {}, more: Record<string, string> = {}) =>
    count(least, name, () => {
      const body = { conversation_id, text: "x", ...fields };
      return read<{ id: string }>(send(server, bob, "POST", "/v1/messages", body, more), 201);
    });
  const uploads = (name: string, fields: Record<string, string> = { conversation_id }, size = 1) =>
    count(least, name, () => {
      const file = new File(["x".repeat(size)], "x");
      return read<{ id: string; message_id: string }>(upload(server.url, bob, file, fields), 201);
    });
  /** Sends a message with a file while the other has him unblocked. */
  const sendReceived = async () => {
    const block = (method: string) => done(send(server, other, method, "/v1/blocks/bob"));
    if (kind === "blocking") await block("DELETE");
    const file = new File(["x"], "x");
    const answering = upload(server.url, bob, file, { conversation_id });
    const sent = await read<{ id: string; message_id: string }>(answering, 201);
    if (kind === "blocking") await block("PUT");
    return sent;
  };
  const { id } = await sends("send");
  await sends("reply", { reply_to_id: id });
  await sends("send with a key", {}, { "idempotency-key": crypto.randomUUID() });
  const named = { client_id: crypto.randomUUID() };
  const { id: identified } = await sends("send with a client_id", named);
  await count(least, "send again with it", () =>
    read(send(server, bob, "POST", "/v1/messages", { conversation_id, text: "x", ...named }), 200),
  );
  await does("delete with a client_id", "DELETE", `/v1/messages/${identified}`);
  await sends("mention", { mentions: [bob.id] });
  const file = await uploads("upload");
  const large = await uploads("upload a large file", { conversation_id }, 40_000);
  await uploads("add a file", { message_id: id });
  await does("read up to a message", "PUT", `/v1/conversations/${conversation_id}/read`, {
    message_id: file.message_id,
  });
  await does("read to the end", "PUT", `/v1/conversations/${conversation_id}/read`, {
    message_id: large.message_id,
  });
  await does("type", "POST", `/v1/conversations/${conversation_id}/typing`);
  await does("react", "PUT", `/v1/messages/${id}/reactions/x`);
  await does("remove a reaction", "DELETE", `/v1/messages/${id}/reactions/x`);
  await does("edit", "PUT", `/v1/messages/${id}`, { text: crypto.randomUUID() });
  await does("rename", "PUT", `/v1/attachments/${file.id}`, { filename: "y" });
  const received = [await sendReceived(), await sendReceived(), await sendReceived()] as const;
  await does("edit what was received", "PUT", `/v1/messages/${received[0].message_id}`, { text: "y" });
  await does("rename what was received", "PUT", `/v1/attachments/${received[1].id}`, { filename: "y" });
  await uploads("add a file to what was received", { message_id: received[2].message_id });
  await does("delete what was received", "DELETE", `/v1/messages/${(await sendReceived()).message_id}`);
  await does("list messages", "GET", `/v1/messages?conversation_id=${conversation_id}`);
  await does("retrieve the conversation", "GET", `/v1/conversations/${conversation_id}`);
  await does("delete", "DELETE", `/v1/messages/${id}`);
  await does("delete a file", "DELETE", `/v1/attachments/${file.id}`);
  await does("find the contact", "GET", `/v1/contacts?username=${kind}`);
  await does("delete a large file", "DELETE", `/v1/attachments/${large.id}`);
}

test("postgres: sending costs the same, whether others have blocked, left, muted or not joined", async (t) => {
  const counted = await startCounted(t);
  const bob = await person(counted.server, "bob");
  const talks = await startTalks(counted, bob);
  const costs = new Map(talks.map((talk) => [talk, {} as Record<string, Counts>]));
  const first = (where: Talk["where"]) => costs.get(talks.find((talk) => talk.where === where)!)!;
  const isEven = () => talks.every((talk) => isDeepStrictEqual(costs.get(talk), first(talk.where)));
  for (let round = 0; round < 3 || (round < 25 && !isEven()); round++) {
    for (const talk of talks) await act(counted, bob, talk, costs.get(talk)!);
  }
  for (const talk of talks)
    assert.deepEqual(costs.get(talk), first(talk.where), `${talk.where} ${talk.kind}`);
  t.diagnostic(JSON.stringify(costs.get(talks[0]!)));
});

test("postgres: deleting a message for oneself takes as many round trips, whether or not others see it", async (t) => {
  const counted = await startCounted(t);
  const { server, count } = counted;
  const bob = await person(server, "bob");
  const talks = await startTalks(counted, bob);
  const costs = new Map(talks.map((talk) => [talk, {} as Record<string, Counts>]));
  const tripsOf = (talk: Talk) => costs.get(talk)!.hide?.roundTrips;
  const isEven = () => talks.every((talk) => tripsOf(talk) === tripsOf(talks[0]!));
  for (let round = 0; round < 3 || (round < 25 && !isEven()); round++) {
    for (const talk of talks) {
      const sending = upload(server.url, bob, new File(["x"], "x"), { conversation_id: talk.id });
      const { message_id } = await read<{ message_id: string }>(sending, 201);
      const path = `/v1/messages/${message_id}?for=me`;
      await count(costs.get(talk)!, "hide", () => done(send(server, bob, "DELETE", path)));
    }
  }
  for (const talk of talks) assert.equal(tripsOf(talk), tripsOf(talks[0]!), `${talk.where} ${talk.kind}`);
});
