// The scene of the matrix: its users, what they have created, and requests as any of them.
import assert from "node:assert/strict";
import { createToken, SCOPES } from "../../../src/core/people/tokens.ts";
import { sql } from "../../../src/db/sql.ts";
import { type TestApp, type TestUser, upload } from "../../support/app.ts";
import { asker, type Json } from "../../support/asker.ts";
import { GROUP_ROWS } from "./matrix-groups.ts";
import { DEVICE, HOOK, ROWS as OTHER_ROWS, type Person, type Row } from "./matrix-rows.ts";

type People = Record<Person, TestUser>;

interface Scene extends People {
  server: TestApp;
  admin: TestUser;
  /** Ids by kind of resource. The owner created each, in the conversation with the member or with the blocked user. */
  ids: Record<string, string>;
}

export const ROWS = [...OTHER_ROWS, ...GROUP_ROWS];
const UNKNOWN = "01h455vb4pex5vsknk084sn02q";

async function contactOf(server: TestApp, from: TestUser, to: TestUser): Promise<Json> {
  const [user] = await server.app.core.db.all<{ username: string }>(
    sql`SELECT username FROM users WHERE id = ${to.id}`,
  );
  const fields = { username: user!.username, phone_number: "555" };
  const { status, body } = await asker(server, from)("POST", "/v1/contacts", fields);
  assert.equal(status, 201);
  return body;
}

async function sent(server: TestApp, from: TestUser, conversation: unknown): Promise<Json> {
  const answer = await upload(server.url, from, new File(["x"], "x"), {
    conversation_id: String(conversation),
  });
  assert.equal(answer.status, 201);
  return (await answer.json()) as Json;
}

/** Creates a group of the owner, the member and the blocked user, with messages. */
async function makeGroup(server: TestApp, { owner, ...others }: Omit<People, "stranger">) {
  const { db } = server.app.core;
  const members: string[] = [];
  for (const { id } of Object.values(others)) {
    const [user] = await db.all<{ username: string }>(sql`SELECT username FROM users WHERE id = ${id}`);
    members.push(user!.username);
  }
  const { body: group } = await asker(server, owner)("POST", "/v1/groups", { name: "group", members });
  for (const each of [others.member, others.blocked])
    assert.equal((await asker(server, each)("POST", `/v1/groups/${group.id}/join`)).status, 200);
  const { body: page } = await asker(server, owner)("GET", `/v1/groups/${group.id}/members`);
  const seats = page.data as { id: string; user_id: string | null }[];
  const idOf = (userId: string | null) => seats.find(({ user_id }) => user_id === userId)!.id;
  const list = `/v1/messages?conversation_id=${group.conversation_id}`;
  const { body: said } = await asker(server, owner)("GET", list);
  const fromOwner = await sent(server, owner, group.conversation_id);
  const fromBlocked = await sent(server, others.blocked, group.conversation_id);
  return {
    group: String(group.id),
    groupConversation: String(group.conversation_id),
    seat: idOf(others.member.id),
    invitation: idOf(null),
    // Earlier members see that the blocked user has joined, even the one who blocks that user.
    joined: (said.data as { id: string }[])[0]!.id,
    groupMessage: String(fromOwner.message_id),
    groupMessageFromBlocked: String(fromBlocked.message_id),
    groupAttachment: String(fromOwner.id),
    groupAttachmentFromBlocked: String(fromBlocked.id),
  };
}

export async function makeScene(server: TestApp): Promise<Scene> {
  const [stranger, invited, blocked, member, owner, admin] = await Promise.all([
    server.user(),
    server.user(),
    server.user(),
    server.user(),
    server.user(),
    server.user({ scopes: SCOPES }),
  ]);
  const withMember = await contactOf(server, owner, member);
  const withBlocked = await contactOf(server, owner, blocked);
  for (const each of [member, blocked, invited]) await contactOf(server, each, owner);
  await asker(server, owner)("PUT", `/v1/contacts/${withBlocked.id}/block`);
  const toMember = await sent(server, owner, withMember.conversation_id);
  const toBlocked = await sent(server, owner, withBlocked.conversation_id);
  const fromBlocked = await sent(server, blocked, withBlocked.conversation_id);
  const ids = {
    contact: String(withMember.id),
    conversation: String(withMember.conversation_id),
    conversationWithBlocked: String(withBlocked.conversation_id),
    attachment: String(toMember.id),
    attachmentToBlocked: String(toBlocked.id),
    attachmentFromBlocked: String(fromBlocked.id),
    message: String(toMember.message_id),
    messageToBlocked: String(toBlocked.message_id),
    messageFromBlocked: String(fromBlocked.message_id),
    ...(await makeGroup(server, { owner, member, blocked, invited })),
    user: owner.id,
    token: (await createToken(server.app.core, null, owner.id, {})).id,
    webhook: "",
    upload: "",
    subscription: "",
    delivery: "",
  };
  const { body: webhook } = await asker(server, owner)("POST", "/v1/webhooks", HOOK);
  ids.webhook = String(webhook.id);
  const { body: upload } = await asker(server, owner)("POST", "/v1/uploads?filename=x", undefined, {
    "upload-complete": "?0",
  });
  ids.upload = String(upload.id);
  const { body: subscription } = await asker(server, owner)("POST", "/v1/push_subscriptions", DEVICE);
  ids.subscription = String(subscription.id);
  const { body: delivery } = await asker(server, owner)("POST", `/v1/webhooks/${ids.webhook}/test`);
  ids.delivery = String(delivery.id);
  return { server, stranger, invited, blocked, member, owner, admin, ids };
}

/** Fills in the ids of the scene, or unknown ids of the same kinds. */
function fill(text: string, { ids }: Scene, known: boolean): string {
  return text.replace(/<(\w+)>/g, (_, name: string) =>
    known ? ids[name]! : ids[name]!.slice(0, 4) + UNKNOWN,
  );
}

export async function ask(row: Row, scene: Scene, headers: Record<string, string>, known = true) {
  const path = fill(row.path, scene, known);
  const [method] = row.route.split(" ") as [string];
  let body: FormData | string | null = null;
  if (row.file) {
    const form = new FormData();
    form.set("file", new File(["x"], "x"));
    body = form;
  } else if (row.body) {
    body = fill(JSON.stringify(row.body), scene, known);
  }
  const type: Record<string, string> = row.body ? { "content-type": "application/json" } : {};
  const answer = await fetch(scene.server.url + path, {
    method,
    headers: { ...headers, ...type, ...row.headers },
    body,
  });
  // Other users of the browser, and proxies, must find nothing of it.
  assert.match(
    answer.headers.get("cache-control") ?? "",
    row.path.startsWith("/files/") ? /^(private\b|no-store$)/ : /^no-store$/,
    row.route,
  );
  return { status: answer.status, text: await answer.text() };
}
