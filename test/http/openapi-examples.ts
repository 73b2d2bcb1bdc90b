// Real requests and answers, as examples for the OpenAPI document.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { TestContext } from "node:test";
import { SCOPES } from "../../src/core/people/tokens.ts";
import type { Example, Examples } from "../../src/http/openapi/document.ts";
import { startOn, type TestApp, type TestUser, testConfig } from "../support/app.ts";
import { person } from "../support/people.ts";
import { blackPng } from "../support/picture-bytes.ts";
import { published } from "../support/published.ts";

/** The fields of answers that later requests need. */
interface Made {
  id: string;
  token: string;
  conversation_id: string;
  username: string;
}

interface Page {
  data: Made[];
}

/** A fixed key, because each database has a different one. */
const PUSH_KEY = `BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIg${"A".repeat(43)}`;

function toSteady(name: string, value: unknown): unknown {
  return name === "push_public_key" ? PUSH_KEY : value;
}

/** Returns the same bytes in each run, so that the document's examples stay the same. */
function steadyRandom(): (bytes: Uint8Array) => void {
  let round = 0;
  return (bytes) => {
    for (let at = 0; at < bytes.length; at += 32) {
      const digest = createHash("sha256").update(`${round++}`).digest();
      bytes.set(digest.subarray(0, bytes.length - at), at);
    }
  };
}

/** Sends requests to one server, and keeps those of named operations with their answers. */
class Recorder {
  readonly server: TestApp;
  readonly examples: Record<string, Example> = {};

  constructor(server: TestApp) {
    this.server = server;
  }

  /** `name`: of the operation. `line`: such as "GET /v1/me". */
  async ask<T = Made>(
    name: string,
    who: TestUser,
    line: string,
    body?: object,
    more: Record<string, string> = {},
  ): Promise<T> {
    const [method = "", path = ""] = line.split(" ");
    const isForm = body instanceof FormData;
    const isJson = body !== undefined && !isForm && !(body instanceof Uint8Array);
    const headers = { ...who.headers, ...(isJson && { "content-type": "application/json" }), ...more };
    const sent = isJson ? JSON.stringify(body) : (body as FormData | Uint8Array<ArrayBuffer> | undefined);
    const response = await fetch(`http://127.0.0.1:${this.server.app.port()}${path}`, {
      method,
      headers,
      body: sent ?? null,
    });
    assert.ok(response.ok, `${line}: ${response.ok || (await response.text())}`);
    const type = response.headers.get("content-type")?.replace(/;.*/, "");
    if (isJson) this.#exampleOf(name).request ??= body;
    if (type === undefined) return undefined as T;
    const text = await textOf(response);
    const answer = (type === "application/json" ? JSON.parse(text, toSteady) : text) as T;
    this.keep(name, `${response.status} ${type}`, answer);
    return answer;
  }

  /** Keeps the body of an answer with a status and a media type, such as "200 application/json". */
  keep(name: string, answer: string, body: unknown): void {
    this.#exampleOf(name).answers[answer] ??= body;
  }

  #exampleOf(name: string): Example {
    this.examples[name] ??= { answers: {} };
    return this.examples[name];
  }
}

/** Returns a text, or the first event of a stream. */
async function textOf(response: Response): Promise<string> {
  if (response.headers.get("content-type") !== "text/event-stream") return response.text();
  let text = "";
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const [event] = /^id: .*?\n\n/ms.exec(text) ?? [];
    if (event) return event;
  }
  throw new Error("The stream ended without an event.");
}

function formWith(name: string, type: string, bytes: string | Buffer<ArrayBuffer>): FormData {
  const form = new FormData();
  form.append("file", new File([bytes], name, { type }));
  return form;
}

/** Sends a request of each operation to a real server, whose clock stands still. */
export async function recordExamples(t: TestContext): Promise<Examples> {
  const base = await testConfig(t, { requestsPerSecond: 500 });
  const config = { ...base, publicUrl: "http://127.0.0.1:8080", secrets: ["s".repeat(32)] };
  const clock = () => Date.UTC(2026, 10, 21, 12);
  const server = await startOn(t, config, { clock, random: steadyRandom() });
  const recorder = new Recorder(server);
  const [ada, grace] = [await person(server, "ada"), await person(server, "grace")];
  await person(server, "hedy");
  const admin = await server.user({ scopes: SCOPES });
  const conversation = await recordContacts(recorder, ada, grace);
  await recordFiles(recorder, ada);
  await recordMessages(recorder, ada, grace, conversation);
  await recordGroups(recorder, ada, grace, admin);
  await recordMe(recorder, ada);
  await published(server);
  await recordEvents(recorder, ada);
  await recordAdministration(recorder, admin, ada);
  await recordPushes(recorder, ada);
  await recordUpkeep(recorder, admin);
  // Last, because deliveries take random numbers at any time.
  await recordWebhooks(recorder, ada);
  return recorder.examples;
}

async function recordContacts(recorder: Recorder, ada: TestUser, grace: TestUser): Promise<string> {
  const ask = recorder.ask.bind(recorder);
  const fields = { username: "grace", phone_number: "+15550101", display_name: "Grace" };
  const contact = await ask("createContact", ada, "POST /v1/contacts", {
    ...fields,
    avatar_url: "https://example.com/grace.png",
  });
  await ask("createContact", grace, "POST /v1/contacts", { username: "ada", phone_number: "+15550100" });
  await ask("listContacts", ada, "GET /v1/contacts");
  await ask("retrieveContact", ada, `GET /v1/contacts/${contact.id}`);
  await ask("updateContact", ada, `PUT /v1/contacts/${contact.id}`, { display_name: "Grace H." });
  await ask("blockUsername", ada, "PUT /v1/blocks/mallory");
  await ask("listBlocks", ada, "GET /v1/blocks");
  return contact.conversation_id;
}

async function recordFiles(recorder: Recorder, ada: TestUser): Promise<void> {
  const ask = recorder.ask.bind(recorder);
  const form = formWith("hello.txt", "text/plain", "hello\n");
  const { id } = await ask("createAttachment", ada, "POST /v1/attachments", form);
  await ask("listAttachments", ada, "GET /v1/attachments");
  await ask("retrieveAttachment", ada, `GET /v1/attachments/${id}`);
  await ask("updateAttachment", ada, `PUT /v1/attachments/${id}`, { filename: "greeting.txt" });
  await ask("createArchive", ada, "POST /v1/archives", { attachment_ids: [id] });

  const bytes = new TextEncoder().encode("hello\n");
  const more = { "content-type": "application/octet-stream", "upload-complete": "?0" };
  const uploads = "/v1/uploads?filename=hello.txt";
  const upload = await ask("createUpload", ada, `POST ${uploads}`, bytes, more);
  await ask("listUploads", ada, "GET /v1/uploads");
  await ask("retrieveUpload", ada, `GET /v1/uploads/${upload.id}`);
  const last = { "upload-complete": "?1", "upload-offset": `${bytes.length}` };
  const part = { "content-type": "application/partial-upload", ...last };
  await ask("appendToUpload", ada, `PATCH /v1/uploads/${upload.id}`, bytes, part);
  await ask("createUpload", ada, `POST ${uploads}`, bytes, { ...more, "upload-complete": "?1" });
}

async function recordMessages(
  recorder: Recorder,
  ada: TestUser,
  grace: TestUser,
  conversation: string,
): Promise<void> {
  const ask = recorder.ask.bind(recorder);
  const hello = { conversation_id: conversation, text: "Hello Grace", client_id: "hello-1" };
  const { id } = await ask("createMessage", ada, "POST /v1/messages", hello);
  await ask("createMessage", ada, "POST /v1/messages", hello);
  await ask("retrieveMessage", ada, `GET /v1/messages/${id}`);
  await ask("updateMessage", ada, `PUT /v1/messages/${id}`, { text: "Hello, Grace!" });
  await ask("listMessages", ada, `GET /v1/messages?conversation_id=${conversation}&limit=1`);
  const read = { message_id: id };
  await ask("markConversationRead", grace, `PUT /v1/conversations/${conversation}/read`, read);
  await ask("listReaders", ada, `GET /v1/messages/${id}/readers`);
  await ask("listConversations", ada, "GET /v1/conversations");
  await ask("retrieveConversation", ada, `GET /v1/conversations/${conversation}`);
  await ask("updateConversation", ada, `PUT /v1/conversations/${conversation}`, { is_pinned: true });
}

async function recordGroups(
  recorder: Recorder,
  ada: TestUser,
  grace: TestUser,
  admin: TestUser,
): Promise<void> {
  const ask = recorder.ask.bind(recorder);
  const group = await ask("createGroup", ada, "POST /v1/groups", { name: "Climbers", members: ["grace"] });
  const path = `/v1/groups/${group.id}`;
  await ask("joinGroup", grace, `POST ${path}/join`);
  await ask("listGroups", ada, "GET /v1/groups");
  await ask("retrieveGroup", ada, `GET ${path}`);
  await ask("updateGroup", ada, `PUT ${path}`, { name: "Climbers and hikers" });
  await ask("inviteMember", ada, `POST ${path}/members`, { username: "barbara" });
  const asAda = { "parley-act-as": ada.id };
  await ask("inviteMember", admin, `POST ${path}/members`, { members: ["hedy"], joined: true }, asAda);
  const members = await ask<Page>("listMembers", ada, `GET ${path}/members`);
  const ofGrace = `${path}/members/${members.data.find(({ username }) => username === "grace")!.id}`;
  await ask("retrieveMember", ada, `GET ${ofGrace}`);
  await ask("updateMember", ada, `PUT ${ofGrace}`, { role: "admin" });
}

const picture = () => formWith("ada.png", "image/png", blackPng(64, 64));

async function recordMe(recorder: Recorder, ada: TestUser): Promise<void> {
  const ask = recorder.ask.bind(recorder);
  await ask("retrieveMe", ada, "GET /v1/me");
  await ask("updateMe", ada, "PUT /v1/me", { display_name: "Ada" });
  await ask("setMyAvatar", ada, "PUT /v1/me/avatar", picture());
}

async function recordEvents(recorder: Recorder, ada: TestUser): Promise<void> {
  const ask = recorder.ask.bind(recorder);
  const events = await ask<Page>("listEvents", ada, "GET /v1/events?limit=2");
  const stream = { accept: "text/event-stream", "last-event-id": events.data[1]!.id };
  await ask("listEvents", ada, "GET /v1/events", undefined, stream);
  await ask("retrieveSnapshot", ada, "GET /v1/snapshot?conversations=1&messages=1");
}

async function recordAdministration(recorder: Recorder, admin: TestUser, ada: TestUser): Promise<void> {
  const ask = recorder.ask.bind(recorder);
  const barbara = { username: "barbara", phone_number: "+15550103", display_name: "Barbara" };
  const user = await ask("createUser", admin, "POST /v1/users", barbara);
  await ask("listUsers", admin, "GET /v1/users?limit=1");
  await ask("retrieveUser", admin, `GET /v1/users/${user.id}`);
  await ask("updateUser", admin, `PUT /v1/users/${user.id}`, { paused: true });
  await ask("setUserAvatar", admin, `PUT /v1/users/${user.id}/avatar`, picture());
  await ask("listUserFiles", admin, `GET /v1/users/${ada.id}/attachments?limit=1`);
  await ask("listUserGroups", admin, `GET /v1/users/${ada.id}/groups`);
  const phone = { user_id: user.id, scopes: ["contacts:read", "attachments:read"], name: "phone" };
  const { id, token } = await ask("createToken", admin, "POST /v1/tokens", phone);
  await ask("listTokens", admin, `GET /v1/tokens?user_id=${user.id}`);
  await ask("findToken", admin, "POST /v1/token_search", { token });
  await ask("retrieveToken", admin, `GET /v1/tokens/${id}`);
  await ask("listAudit", admin, "GET /v1/audit?limit=2");
  const firstLine = async (accept: string) =>
    (await ask<string>("", admin, "GET /v1/audit", undefined, { accept })).replace(/\n.*/s, "\n");
  for (const type of ["application/jsonl", "application/x-ndjson"])
    recorder.keep("listAudit", `200 ${type}`, await firstLine(type));
}

async function recordPushes(recorder: Recorder, ada: TestUser): Promise<void> {
  const ask = recorder.ask.bind(recorder);
  const device = {
    endpoint: "https://push.example.com/send/f7Hk2cQ",
    // The keys of RFC 8291, section 5.
    p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
    auth: "BTBZMqHH6r4Tts7J_aSIgg",
  };
  const { id } = await ask("createPushSubscription", ada, "POST /v1/push_subscriptions", device);
  await ask("createPushSubscription", ada, "POST /v1/push_subscriptions", device);
  await ask("listPushSubscriptions", ada, "GET /v1/push_subscriptions");
  await ask("retrievePushSubscription", ada, `GET /v1/push_subscriptions/${id}`);
}

async function recordUpkeep(recorder: Recorder, admin: TestUser): Promise<void> {
  await recorder.ask("isAlive", admin, "GET /healthz");
  await recorder.ask("isReady", admin, "GET /readyz");
  const metrics = await recorder.ask<string>("", admin, "GET /metrics");
  const [first] = /^# HELP parley_build_info .*\n.*\n.*\n/m.exec(metrics)!;
  recorder.keep("readMetrics", "200 text/plain", first);
}

async function recordWebhooks(recorder: Recorder, ada: TestUser): Promise<void> {
  const ask = recorder.ask.bind(recorder);
  const wanted = { url: "https://receiver.invalid/hook", events: ["attachment.created"] };
  const { id } = await ask("createWebhook", ada, "POST /v1/webhooks", wanted);
  const path = `/v1/webhooks/${id}`;
  await ask("listWebhooks", ada, "GET /v1/webhooks");
  await ask("retrieveWebhook", ada, `GET ${path}`);
  await ask("rotateWebhookSecret", ada, `POST ${path}/secret`);
  const test = await ask("testWebhook", ada, `POST ${path}/test`);
  // As created, because the delivery may or may not be sent by now.
  recorder.keep("listDeliveries", "200 application/json", { has_more: false, data: [test] });
  recorder.keep("redeliver", "200 application/json", test);
  await ask("updateWebhook", ada, `PUT ${path}`, { enabled: false });
}
