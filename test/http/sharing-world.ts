// Three users of a server, and beside them the model of docs/sharing.md: each operation is asked of both.
import assert from "node:assert/strict";
import fc from "fast-check";
import { createToken } from "../../src/core/access/tokens.ts";
import { createUser, deleteUser } from "../../src/core/users.ts";
import { sql } from "../../src/db/sql.ts";
import type { TestApp } from "../support/app.ts";
import { eventually } from "../support/files-on-disk.ts";
import { type Contact, type Conversation, Model, type SentFile, type User } from "./sharing-model.ts";

/** How often each is drawn. */
const WEIGHTS = {
  addContact: 16,
  removeContact: 5,
  updateContact: 1,
  readContact: 1,
  listContacts: 2,
  block: 5,
  unblock: 1,
  upload: 10,
  uploadToMessage: 1,
  rename: 1,
  deleteFile: 1,
  readFile: 1,
  listFiles: 2,
  openLink: 2,
  download: 1,
  readMe: 1,
  eraseUser: 2,
};
type Kind = keyof typeof WEIGHTS;

/** Numbers choose among what is there when the operation comes: so any part of a sequence is a sequence. */
export interface Operation {
  kind: Kind;
  who: number;
  target: number;
  spare: number;
}

export const operations: fc.Arbitrary<Operation> = fc.record({
  kind: fc.oneof(
    ...Object.entries(WEIGHTS).map(([kind, weight]) => ({ weight, arbitrary: fc.constant(kind as Kind) })),
  ),
  who: fc.nat(2),
  target: fc.nat(99),
  spare: fc.nat(99),
});

const NAMES = ["ann", "bob", "cyd"];
const PHONE = "+1 555";
const UNKNOWN = "01h455vb4pex5vsknk084sn02q";

export interface Clock {
  now: number;
}

let worlds = 0;

export class World {
  readonly model = new Model();
  readonly #server: TestApp;
  readonly #clock: Clock;
  readonly #names: string[];

  constructor(server: TestApp, clock: Clock) {
    const number = ++worlds;
    this.#server = server;
    this.#clock = clock;
    this.#names = NAMES.map((name) => `${name}${number}`);
  }

  async begin(): Promise<void> {
    for (const name of this.#names) await this.#make(name);
  }

  async #make(name: string): Promise<void> {
    const { core } = this.#server.app;
    const user = this.model.makeUser(name);
    user.id = (await createUser(core, null, { username: name })).id;
    user.token = (await createToken(core, null, user.id, {})).token;
    const me = (await this.ask(user, "GET", "/v1/me", 200)) as { conversation_id: string };
    user.notes.id = me.conversation_id;
  }

  async erase(user: User): Promise<void> {
    this.model.eraseUser(user, this.#clock.now);
    // One that other users' requests cross too often is refused whole, and asked for again.
    const erased = await eventually(() =>
      deleteUser(this.#server.app.core, null, user.id).then(
        () => true,
        (error) => {
          if (error.code !== "unavailable") throw error;
          return false;
        },
      ),
    );
    assert.ok(erased);
  }

  /** Asks as a user, who is seen by that; checks the status, and returns the JSON. */
  async ask(user: User, method: string, path: string, status: number, body?: object): Promise<unknown> {
    user.seenAt.push(this.#clock.now);
    const headers: Record<string, string> = { authorization: `Bearer ${user.token}` };
    if (body && !(body instanceof FormData)) headers["content-type"] = "application/json";
    const sent = body instanceof FormData ? body : body && JSON.stringify(body);
    const answer = await fetch(this.#server.url + path, { method, headers, body: sent ?? null });
    const text = await answer.text();
    assert.equal(answer.status, status, `${method} ${path} of ${user.name}: ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  }

  async #refused(user: User, method: string, path: string, status: number, code: string, body?: object) {
    const problem = (await this.ask(user, method, path, status, body)) as Record<string, unknown>;
    assert.equal(problem.code, code);
    return problem;
  }

  async perform(operation: Operation): Promise<void> {
    const { kind, who, target, spare } = operation;
    const name = this.#names[who]!;
    const user = this.model.users.get(name);
    if (kind === "openLink") return this.#openLink(oneOf(this.model.files, target));
    if (kind === "eraseUser") return user && this.erase(user);
    if (user) return this.#performAs(user, kind, target, spare);
    const erased = this.model.everyone.findLast((each) => each.name === name)!;
    await this.#refused(erased, "GET", "/v1/me", 401, "invalid_token");
    // Another one of that name comes, now or a few operations later.
    if (spare % 2) await this.#make(name);
  }

  #performAs(user: User, kind: Kind, target: number, spare: number): Promise<void> {
    const { contacts, files, conversations } = this.model;
    const contact = pick([...user.contacts.values()], contacts, target, spare);
    const file = pick(this.model.filesSeenBy(user), files, target, spare);
    const conversation = pick(this.model.conversationsOf(user), conversations, target, spare);
    if (kind === "addContact") return this.#addContact(user, this.#otherName(user, target), spare);
    if (kind === "listContacts") return this.checkContacts(user, [undefined, true, false][target % 3]);
    if (kind === "upload") return this.#upload(user, conversation, spare);
    if (kind === "uploadToMessage") return this.#uploadToMessage(user, file, spare);
    if (kind === "listFiles") return this.checkFiles(user, target % 3 ? conversation : undefined);
    if (kind === "readMe") return this.checkStorage(user);
    if (kind === "rename" || kind === "deleteFile") return this.#changeFile(user, file, kind, spare);
    if (kind === "readFile" || kind === "download") return this.#readFile(user, file, kind);
    return this.#changeContact(user, contact, kind, spare);
  }

  /** Now and then the user's own. */
  #otherName(user: User, target: number): string {
    const others = this.#names.filter((name) => name !== user.name);
    return target % 20 === 0 ? user.name : oneOf(others, target)!;
  }

  async #addContact(user: User, name: string, spare: number): Promise<void> {
    const username = spare % 2 ? name : name.toUpperCase();
    const fields = { username, phone_number: PHONE };
    const made = this.model.addContact(user, username, this.#clock.now);
    if (!made) {
      const problem = await this.#refused(user, "POST", "/v1/contacts", 409, "contact_exists", fields);
      assert.equal(problem.existing_id, user.contacts.get(name)!.id);
      return;
    }
    const answer = (await this.ask(user, "POST", "/v1/contacts", 201, fields)) as Shown;
    made.id = answer.id as string;
    // A conversation that is new to the model must be new to the server, too.
    const known = this.model.conversations.some(({ id }) => id === answer.conversation_id);
    assert.equal(known, made.conversation.id !== "", "a conversation of its own, or the peer's");
    made.conversation.id ||= answer.conversation_id as string;
    this.#checkContact(made, { ...answer });
  }

  #checkContact(contact: Contact, shown: Shown): void {
    const { last_active_at: seen, ...rest } = shown;
    assert.deepEqual(rest, {
      id: contact.id,
      username: contact.username,
      phone_number: PHONE,
      avatar_url: null,
      display_name: contact.displayName,
      conversation_id: contact.conversation.id,
      created_at: Math.floor(contact.createdAt / 1000),
    });
    // The newest is told within two seconds; until then one before it, or nothing.
    if (seen !== null) {
      const mayBeTold = this.model.presenceOf(contact);
      assert.ok(mayBeTold.includes(seen as number), `${seen} is none of ${mayBeTold}`);
    }
  }

  async #changeContact(user: User, contact: Contact | undefined, kind: Kind, spare: number): Promise<void> {
    const path = `/v1/contacts/${contact?.id ?? `con_${UNKNOWN}`}`;
    const [method, at, status, fields] = (
      {
        removeContact: ["DELETE", path, 204],
        updateContact: ["PUT", path, 200, { display_name: `"conversation_id":"${spare}"` }],
        readContact: ["GET", path, 200],
        block: ["PUT", `${path}/block`, 204],
        unblock: ["DELETE", `${path}/block`, 204],
      } as Record<string, [string, string, number, { display_name: string }?]>
    )[kind]!;
    if (!contact || contact.owner !== user || !this.model.isThere(contact)) {
      await this.#refused(user, method, at, 404, "contact_not_found", fields);
      return;
    }
    if (kind === "removeContact") this.model.removeContact(contact);
    if (kind === "block") contact.blocked = true;
    if (kind === "unblock") contact.blocked = false;
    if (fields) contact.displayName = fields.display_name;
    const shown = await this.ask(user, method, at, status, fields);
    if (status === 200) this.#checkContact(contact, shown as Shown);
  }

  async #upload(user: User, conversation: Conversation | undefined, spare: number): Promise<void> {
    const field = spare % 10 === 0 ? undefined : (conversation?.id ?? `cnv_${UNKNOWN}`);
    const to = field === undefined ? user.notes : conversation;
    const form = new FormData();
    if (field !== undefined) form.set("conversation_id", field);
    if (to?.members.has(user)) await this.#send(user, to, form, spare);
    else {
      form.set("file", new File(["refused"], "refused"));
      await this.#refused(user, "POST", "/v1/attachments", 404, "conversation_not_found", form);
    }
  }

  /** Only a message of one's own, in a conversation that one is in. */
  async #uploadToMessage(user: User, sent: SentFile | undefined, spare: number): Promise<void> {
    const form = new FormData();
    form.set("message_id", sent?.messageId ?? `msg_${UNKNOWN}`);
    if (sent && sent.uploader === user && sent.conversation.members.has(user)) {
      const file = await this.#send(user, sent.conversation, form, spare);
      assert.equal(file.messageId, sent.messageId);
      return;
    }
    form.set("file", new File(["refused"], "refused"));
    await this.#refused(user, "POST", "/v1/attachments", 404, "message_not_found", form);
  }

  async #send(uploader: User, conversation: Conversation, form: FormData, spare: number): Promise<SentFile> {
    // Most are kept in the database, some in the store.
    const content = `file ${this.model.files.length} `.padEnd(spare % 8 === 7 ? 40_000 : spare * 20, "x");
    const filename = `f ${this.model.files.length}`;
    const createdAt = this.#clock.now;
    const file = this.model.upload({ uploader, conversation, filename, content, createdAt });
    form.set("file", new File([content], filename));
    const shown = (await this.ask(uploader, "POST", "/v1/attachments", 201, form)) as Shown;
    file.id = shown.id as string;
    file.messageId = shown.message_id as string;
    file.link = shown.file_url as string;
    checkFile(file, shown);
    return file;
  }

  async #changeFile(user: User, file: SentFile | undefined, kind: Kind, spare: number): Promise<void> {
    const path = `/v1/attachments/${file?.id ?? `att_${UNKNOWN}`}`;
    const [method, body] = kind === "rename" ? ["PUT", { filename: `renamed ${spare}` }] : ["DELETE"];
    if (!file?.seenBy.has(user)) {
      await this.#refused(user, method as string, path, 404, "attachment_not_found", body as object);
    } else if (file.uploader !== user) {
      await this.#refused(user, method as string, path, 403, "not_uploader", body as object);
    } else if (kind === "rename") {
      file.filename = `renamed ${spare}`;
      checkFile(file, (await this.ask(user, "PUT", path, 200, body as object)) as Shown);
    } else {
      file.seenBy.clear();
      await this.ask(user, "DELETE", path, 204);
    }
  }

  async #readFile(user: User, file: SentFile | undefined, kind: Kind): Promise<void> {
    const id = file?.id ?? `att_${UNKNOWN}`;
    const sees = file?.seenBy.has(user);
    if (kind === "download") {
      const address = `${this.#server.url}/files/${id}/${encodeURIComponent(file?.filename ?? "f")}`;
      user.seenAt.push(this.#clock.now);
      await checkBytes(address, sees ? file : undefined, { authorization: `Bearer ${user.token}` });
    } else if (sees) {
      checkFile(file!, (await this.ask(user, "GET", `/v1/attachments/${id}`, 200)) as Shown);
    } else {
      await this.#refused(user, "GET", `/v1/attachments/${id}`, 404, "attachment_not_found");
    }
  }

  /** Whoever has the link may read, as long as anybody sees the file. */
  async #openLink(file: SentFile | undefined): Promise<void> {
    if (file) await checkBytes(file.link, file.seenBy.size > 0 ? file : undefined, {});
  }

  async checkContacts(user: User, active: boolean | undefined): Promise<void> {
    const query = active === undefined ? "" : `&active=${active}`;
    const { data } = (await this.ask(user, "GET", `/v1/contacts?limit=100${query}`, 200)) as Page;
    const wanted = this.model.contacts
      .filter((each) => each.owner === user && this.model.isThere(each) && each.blocked !== active)
      .reverse();
    assert.deepEqual(
      data.map(({ id }) => id),
      wanted.map(({ id }) => id),
    );
    for (const [i, contact] of wanted.entries()) this.#checkContact(contact, data[i]!);
  }

  /** Of one conversation, or of all that the user sees. */
  async checkFiles(user: User, conversation?: Conversation): Promise<void> {
    const path = `/v1/attachments?limit=100${conversation ? `&conversation_id=${conversation.id}` : ""}`;
    if (conversation && !conversation.members.has(user)) {
      await this.#refused(user, "GET", path, 404, "conversation_not_found");
      return;
    }
    const { data, has_more } = (await this.ask(user, "GET", path, 200)) as Page;
    const seen = this.model.filesSeenBy(user);
    const wanted = conversation ? seen.filter((file) => file.conversation === conversation) : seen;
    assert.deepEqual(
      data.map(({ id }) => id),
      wanted.map(({ id }) => id),
      `what ${user.name} sees`,
    );
    assert.equal(has_more, false);
    for (const [i, file] of wanted.entries()) checkFile(file, data[i]!);
  }

  async checkStorage(user: User): Promise<void> {
    const { db } = this.#server.app.core;
    const isErased = async () =>
      (await db.get(sql`SELECT 1 AS one FROM departing WHERE user_id = ${user.id}`)) === undefined;
    assert.ok(await eventually(isErased), "files count until they are erased");
    const me = (await this.ask(user, "GET", "/v1/me", 200)) as { storage: { used: number } };
    assert.equal(me.storage.used, this.model.storageUsed(user), `what the files of ${user.name} take`);
  }

  /** What is told of each contact when all that was seen is written down. */
  async checkPresence(): Promise<void> {
    const toldOf = (contact: Contact) => this.model.presenceOf(contact).at(-1) ?? null;
    const before = new Map(this.model.contacts.map((each) => [each.id, toldOf(each)]));
    for (const user of this.model.users.values()) {
      const { data } = (await this.ask(user, "GET", "/v1/contacts?limit=100", 200)) as Page;
      for (const contact of user.contacts.values()) {
        const seen = data.find(({ id }) => id === contact.id)!.last_active_at as number | null;
        // Reading is being seen, and may have been written down already.
        if (seen !== before.get(contact.id)) assert.equal(seen, toldOf(contact), `presence of ${contact.id}`);
      }
    }
  }
}

type Shown = Record<string, unknown>;
interface Page {
  has_more: boolean;
  data: Shown[];
}

function checkFile(file: SentFile, shown: Shown): void {
  const { file_url, file_type, ...rest } = shown;
  assert.deepEqual(rest, {
    id: file.id,
    message_id: file.messageId,
    filename: file.filename,
    file_size: file.content.length,
    created_at: Math.floor(file.createdAt / 1000),
  });
  assert.equal(file_type, "application/octet-stream");
  const { pathname } = new URL(file_url as string);
  assert.equal(decodeURIComponent(pathname), `/files/${file.id}/${file.filename}`);
}

/** Undefined: it must be gone, or not be shown. An address with a former name leads to the present one. */
async function checkBytes(address: string, file: SentFile | undefined, headers: Record<string, string>) {
  const answer = await fetch(address, { headers, redirect: "manual" });
  const text = await answer.text();
  if (!file) assert.equal(answer.status, 404, text);
  else if (new URL(address).pathname.endsWith(`/${encodeURIComponent(file.filename)}`)) {
    assert.equal(answer.status, 200, text);
    assert.equal(text, file.content);
  } else {
    assert.equal(answer.status, 308);
    const to = decodeURIComponent(new URL(answer.headers.get("location")!, address).pathname);
    assert.equal(to, `/files/${file.id}/${file.filename}`);
  }
}

function oneOf<T>(all: readonly T[], number: number): T | undefined {
  return all[number % all.length];
}

/** Mostly one of the user's own, now and then any that ever was. */
function pick<T>(own: readonly T[], all: readonly T[], target: number, spare: number): T | undefined {
  const at = target % (own.length + 1);
  return at < own.length ? own[at] : oneOf(all, spare);
}
