// Groups and members, and checks of what every answer with one must look like.
import assert from "node:assert/strict";
import { call, fresh, json, type Options, type Reply, SHOWN_KEYS, type Shown } from "./client.ts";
import { theirs } from "./two-users.ts";

export const PATH = "/v1/groups";

export interface Group {
  id: string;
  name: string;
  description: string | null;
  avatar_url: string | null;
  conversation_id: string | null;
  history: string;
  role: string;
  invited_by: Shown | null;
  member_count: number;
  created_at: number;
}

export interface Member {
  id: string;
  group_id: string;
  user_id: string | null;
  username: string | null;
  display_name: string | null;
  avatar_url: string | null;
  kind: string | null;
  role: string;
  created_at: number;
  read_message_id: string | null;
}

interface Page<Item> {
  has_more: boolean;
  data: Item[];
}

const GROUP_KEYS = [
  ...["id", "name", "description", "avatar_url", "conversation_id", "history", "role", "invited_by"],
  ...["member_count", "created_at"],
];
const MEMBER_KEYS = [
  ...["id", "group_id", "user_id", "username", "display_name", "avatar_url", "kind", "role", "created_at"],
  "read_message_id",
];
const ID = "[0-7][0-9a-hjkmnp-tv-z]{25}";

function answered(reply: Reply, status: number): unknown {
  assert.equal(reply.status, status, `expected ${status}, was ${reply.status}: ${reply.text.slice(0, 500)}`);
  assert.match(reply.headers.get("content-type") ?? "", /^application\/json\b/);
  return reply.json;
}

function toGroup(value: unknown): Group {
  const body = value as Group;
  assert.deepEqual(Object.keys(body), GROUP_KEYS);
  assert.match(body.id, new RegExp(`^grp_${ID}$`));
  if (body.role === "invited") {
    assert.equal(body.conversation_id, null);
    assert.ok(body.invited_by);
  } else assert.match(String(body.conversation_id), new RegExp(`^cnv_${ID}$`));
  if (body.invited_by) assert.deepEqual(Object.keys(body.invited_by), SHOWN_KEYS);
  assert.ok(["joined", "all"].includes(body.history) && ["admin", "member", "invited"].includes(body.role));
  assert.ok(Number.isInteger(body.member_count) && Number.isInteger(body.created_at));
  return body;
}

function toMember(value: unknown): Member {
  const body = value as Member;
  assert.deepEqual(Object.keys(body), MEMBER_KEYS);
  assert.match(body.id, new RegExp(`^mem_${ID}$`));
  assert.equal(body.user_id === null, body.role === "invited");
  if (body.role === "invited")
    assert.deepEqual([body.display_name, body.avatar_url, body.read_message_id], [null, null, null]);
  return body;
}

function toPage<Item>(reply: Reply, shape: (value: unknown) => Item): Page<Item> {
  const body = answered(reply, 200) as Page<unknown>;
  assert.deepEqual(Object.keys(body), ["has_more", "data"]);
  return { has_more: body.has_more, data: body.data.map(shape) };
}

export const group = (reply: Reply, status = 200) => toGroup(answered(reply, status));
export const groups = (reply: Reply) => toPage(reply, toGroup);
export const member = (reply: Reply, status = 200) => toMember(answered(reply, status));
export const members = (reply: Reply) => toPage(reply, toMember);

export async function newGroup(fields: object = {}, options: Options = {}): Promise<Group> {
  return group(await call("POST", PATH, { ...json({ name: fresh("group"), ...fields }), ...options }), 201);
}

export async function get(id: string, options: Options = {}): Promise<Group> {
  return group(await call("GET", `${PATH}/${id}`, options));
}

/** As the first user by default. */
export const invite = (id: string, username: string, options: Options = {}) =>
  call("POST", `${PATH}/${id}/members`, { ...json({ username }), ...options });

/** As the second user by default. */
export async function join(id: string, options: Options = theirs()): Promise<Group> {
  return group(await call("POST", `${PATH}/${id}/join`, options));
}

export async function leave(id: string, options: Options = {}): Promise<void> {
  assert.equal((await call("DELETE", `${PATH}/${id}`, options)).status, 204);
}

export async function listMembers(id: string, options: Options = {}): Promise<Member[]> {
  return members(await call("GET", `${PATH}/${id}/members?limit=100`, options)).data;
}
