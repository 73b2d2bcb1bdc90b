// Generates requests from the OpenAPI document, and checks answers against it.
import assert from "node:assert/strict";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import fc from "fast-check";
import { damage, damages, oneOf, seldom, texts } from "./damage.ts";
import { type Answer, json, type Request } from "./wire.ts";

type Schema = Readonly<Record<string, unknown>>;

export interface Operation {
  method: string;
  path: string;
  operationId: string;
  parameters: { name: string; in: string; required?: boolean; description?: string; schema: Schema }[];
  requestBody?: {
    content: Record<
      string,
      { schema: Schema & { properties?: Record<string, Schema>; required?: string[] } }
    >;
  };
  responses: Record<string, { headers: object; content?: Record<string, { examples?: object }> }>;
}

interface Document {
  paths: Record<
    string,
    Record<string, Omit<Operation, "method" | "path" | "parameters"> & Partial<Operation>>
  >;
}

export function operationsOf({ paths }: Document): Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({
      parameters: [],
      ...described,
      method: method.toUpperCase(),
      path,
      // Shortens counterexamples.
      [fc.toStringMethod]: () => described.operationId,
    })),
  );
}

/** A placeholder for the id of an existing or former resource, chosen when the request is sent. */
const known = (kind: string) => fc.nat(1000).map((n) => `{{${kind}:${n}}}`);
const ids = (kind: string) =>
  fc.oneof(
    { weight: 12, arbitrary: known(kind) },
    fc.constant(`${kind}_01m7yvg6wdep5s12jf5tdfb716`),
    known("usr"),
  );

/** Requests to these URLs do not leave this machine and need no DNS. A [ in a path stays unchanged. */
const ADDRESSES = oneOf(
  "http://127.0.0.1:9/hook|http://127.0.0.1:9/[?a=ä|https://[::1]:9/|http://127.1:9|ftp://127.0.0.1/",
);

/** The keys of a device, by the patterns that they match (RFC 8291, section 5). */
const DEVICE: Readonly<Record<string, string[]>> = {
  "^[A-Za-z0-9_-]{87}$": [
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
  ],
  "^[A-Za-z0-9_-]{22}$": ["BTBZMqHH6r4Tts7J_aSIgg"],
};

/** Generates values that a schema allows. */
function valuesOf(schema: Schema): fc.Arbitrary<unknown> {
  const {
    const: only,
    enum: some,
    type,
    pattern,
    format,
    minimum,
    maximum,
    minLength = 0,
    maxLength = 100,
  } = schema as Record<string, never>;
  if (only !== undefined) return fc.constant(only);
  if (some !== undefined) return fc.constantFrom(...(some as unknown[]));
  if (Array.isArray(type))
    return fc.oneof(...(type as string[]).map((each) => valuesOf({ ...schema, type: each })));
  if (type === "integer") return fc.integer({ min: minimum ?? 0, max: maximum ?? 5_000_000_000 });
  if (type === "boolean") return fc.boolean();
  if (type === "null") return fc.constant(null);
  if (type === "array") return fc.array(valuesOf(schema.items as Schema), { minLength: 1, maxLength: 3 });
  const kind = /^\^(\w{3})_/.exec(pattern ?? "")?.[1];
  if (kind) return ids(kind);
  if (format !== undefined) return ADDRESSES;
  if (pattern !== undefined) return fc.constantFrom(...(DEVICE[pattern] ?? ["key-1", "key-2", "key-3"]));
  return fc.oneof(
    // Each is valid as a name and as a phone number.
    { weight: 3, arbitrary: oneOf("grace 555|alan 0100|+15550102") },
    fc.string({ unit: "grapheme-ascii", minLength, maxLength: Math.min(maxLength, 100) }),
  );
}

/** Generates values of a schema, and rarely any other value. */
const maybe = (schema: Schema): fc.Arbitrary<unknown> =>
  fc.oneof(
    { weight: 15, arbitrary: valuesOf(schema) },
    fc.oneof(
      texts.map((text) => text.slice(0, 200)),
      fc.jsonValue({ maxDepth: 2 }),
    ),
  );

/** Generates all required fields, some of the others, and rarely leaves out a required one. */
function someOf(
  fields: Record<string, { schema: Schema; required: boolean }>,
): fc.Arbitrary<Record<string, unknown>> {
  const all = Object.entries(fields).map(([name, { schema, required }]) =>
    fc
      .option(maybe(schema), { nil: undefined, freq: required ? 30 : 1 })
      .map((value) => [name, value] as const),
  );
  return fc
    .tuple(...all)
    .map((pairs) => Object.fromEntries(pairs.filter(([, value]) => value !== undefined)));
}

/** A request whose ids are not chosen yet. */
export interface Draft {
  operation: Operation;
  who: "admin" | "mine" | "theirs" | "minted" | "nobody" | "wrong";
  head: boolean;
  values: Record<"path" | "query" | "header", Record<string, unknown>>;
  accept: string | undefined;
  body:
    | { type: string; fields: Record<string, unknown>; harm: Parameters<typeof damage>[1] | undefined }
    | undefined;
  /** An input that every operation must refuse. */
  wrong: string | undefined;
}

/** The headers of a resumable upload depend on each other. */
const PROTOCOLS = [
  { needed: [], unwanted: [] },
  { needed: ["Upload-Complete", "Upload-Offset"], unwanted: ["Tus-Resumable", "Upload-Checksum"] },
  {
    needed: ["Tus-Resumable", "Upload-Length", "Upload-Offset"],
    unwanted: ["Upload-Checksum", "Upload-Metadata", "Upload-Defer-Length"],
  },
];

/** Values that fit, because most uploads are empty and most bodies short. */
const LIKELY: Readonly<Record<string, Schema>> = {
  "Upload-Offset": { maximum: 2 },
  "Upload-Length": { maximum: 12 },
};

export function draftsOf(operation: Operation): fc.Arbitrary<Draft> {
  const { parameters, requestBody, responses, path } = operation;
  const placed = (place: string, needed: readonly string[] = [], unwanted: readonly string[] = []) =>
    someOf(
      Object.fromEntries(
        parameters
          .filter((each) => each.in === place && !unwanted.includes(each.name))
          .map(({ name, description, required, schema }) => {
            const kind =
              /^(\w{3})_…$/.exec(description ?? "")?.[1] ??
              (path.startsWith("/files/{id}") && name === "id" ? "att" : undefined);
            const known = place === "path" && kind ? { pattern: `^${kind}_` } : schema;
            const isNeeded = required === true || needed.includes(name);
            return [name, { schema: { ...known, ...LIKELY[name] }, required: isNeeded }];
          }),
      ),
    );
  const types = Object.entries(requestBody?.content ?? {});
  const bodies = types.map(([type, { schema }]) => {
    const { properties = BYTES } = schema;
    return fc.record({
      type: fc.constant(type),
      fields: someOf(
        Object.fromEntries(
          Object.entries(properties).map(([name, each]) => [
            name,
            { schema: each, required: schema.required?.includes(name) === true },
          ]),
        ),
      ),
      // A damaged URL could lead to another host.
      harm: "url" in properties ? fc.constant(undefined) : seldom(damages, 12),
    });
  });
  // The bytes of a file are always valid.
  const ofBody = types.some(([type]) => ENCODERS[type] === toBytes) ? "" : "body|type|";
  const usual = /users|tokens|audit|metrics/.test(path) ? "admin|admin" : "admin|mine";
  const accepted = Object.values(responses).flatMap(({ content }) => Object.keys(content ?? {}));
  return fc.record({
    operation: fc.constant(operation),
    who: oneOf(`${usual}|${usual}|${usual}|mine|theirs|minted|nobody|wrong`) as fc.Arbitrary<Draft["who"]>,
    head: fc.nat(9).map((n) => n === 0),
    values: fc.record({
      path: placed("path"),
      query: placed("query", path === "/v1/uploads" ? ["filename"] : []),
      header: path.startsWith("/v1/uploads")
        ? fc.oneof(...PROTOCOLS.map(({ needed, unwanted }) => placed("header", needed, unwanted)))
        : placed("header"),
    }),
    accept: seldom(fc.constantFrom(...accepted), 4),
    body: bodies.length === 0 ? fc.constant(undefined) : fc.oneof(...bodies),
    wrong: seldom(oneOf(`${ofBody}no_such=1|a=%zz|limit=1&limit=1`), 10),
  });
}

/** An empty body. */
const BYTES: Record<string, Schema> = { bytes: { type: "string" } };

const textOf = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value)).toWellFormed();

const toBytes = (fields: [string, unknown][]) => fields.map(([, value]) => textOf(value)).join("");

const ENCODERS: Record<string, (fields: [string, unknown][]) => string> = {
  "application/offset+octet-stream": toBytes,
  "application/partial-upload": toBytes,
  "*/*": toBytes,
  "application/json": (fields) => JSON.stringify(Object.fromEntries(fields)),
  "application/x-www-form-urlencoded": (fields) =>
    String(new URLSearchParams(fields.map(([name, value]): [string, string] => [name, textOf(value)]))),
  "multipart/form-data": (fields) => {
    const part = ([name, value]: [string, unknown]) =>
      `--b\r\nContent-Disposition: form-data; name=${name}${name === "file" ? "; filename=a" : ""}\r\n\r\n${textOf(value)}\r\n`;
    return `${fields.map(part).join("")}--b--\r\n`;
  },
};

function bodyOf({ body, wrong }: Draft): { type?: string; body?: Buffer } {
  if (wrong === "type") return { type: "text/plain", body: Buffer.from("x") };
  const more = wrong === "body" ? { no_such: "1" } : {};
  if (body === undefined)
    return wrong === "body" ? { type: "application/json", body: Buffer.from(JSON.stringify(more)) } : {};
  const fields = Object.entries({ ...body.fields, ...more });
  const whole = { type: body.type, body: Buffer.from(ENCODERS[body.type]!(fields)) };
  if (body.type === "multipart/form-data") whole.type += "; boundary=b";
  return wrong === undefined ? { ...whole, body: damage(whole.body, body.harm ?? []) } : whole;
}

/** Returns the request of a draft whose ids are chosen. */
export function requestOf(draft: Draft): Request {
  const { operation, values, head, accept, wrong } = draft;
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name) =>
    encodeURIComponent(textOf(values.path[name] ?? "x") || "x"),
  );
  const query = Object.entries(values.query).map(
    ([name, value]) => `${name}=${encodeURIComponent(textOf(value))}`,
  );
  if (wrong?.includes("=")) query.push(wrong);
  const sent = Object.entries(values.header).map(([name, value]) => [
    name,
    textOf(value).replace(/[^\x21-\x7e]+/g, " "),
  ]);
  const { type, body } = bodyOf(draft);
  return {
    method: head && operation.method === "GET" ? "HEAD" : operation.method,
    target: path + (query.length === 0 ? "" : `?${query.join("&")}`),
    headers: {
      ...Object.fromEntries(sent),
      ...(accept ? { accept } : {}),
      ...(type ? { "content-type": type } : {}),
    },
    ...(body ? { body } : {}),
  };
}

/** HTTP's own headers, which the document leaves out. */
const PLAIN_HEADERS = new Set([
  ...["date", "connection", "keep-alive", "content-length", "content-type", "transfer-encoding"],
  ...["cache-control", "vary"],
]);

/** Fails if the document does not have this answer for the operation. */
export function contractOf(
  document: object,
): (operation: Operation, answer: Answer, headersOnly: boolean, about: string) => void {
  const ajv = new Ajv2020({ strict: false, validateSchema: false, allErrors: true });
  formats.default(ajv);
  ajv.addSchema(document, "document");
  const conforms = (pointer: string[], value: unknown, about: string) => {
    const validate = ajv.getSchema(
      `document#/${pointer.map((each) => encodeURIComponent(each.replaceAll("~", "~0").replaceAll("/", "~1"))).join("/")}`,
    )!;
    assert.ok(validate(value), `${ajv.errorsText(validate.errors)}: ${about}`);
  };
  return ({ method, path, responses }, answer, headersOnly, about) => {
    const described = responses[answer.status];
    assert.ok(described, `an undocumented status: ${about}`);
    const headers = Object.keys(described.headers).map((name) => name.toLowerCase());
    for (const name of answer.headers.keys())
      assert.ok(
        headers.includes(name) || PLAIN_HEADERS.has(name),
        `an undocumented header ${name}: ${about}`,
      );
    if (described.content === undefined || headersOnly) return assert.equal(answer.body.length, 0, about);
    const type = answer.headers.get("content-type")!.split(";")[0]!;
    const found = [type, "*/*"].find((each) => Object.hasOwn(described.content!, each));
    assert.ok(found, `an undocumented type ${type}: ${about}`);
    const schema = [
      "paths",
      path,
      method.toLowerCase(),
      "responses",
      String(answer.status),
      "content",
      found,
      "schema",
    ];
    if (/\bjson$/.test(found)) conforms(schema, json(answer), about);
    if (/jsonl|ndjson/.test(found))
      for (const line of answer.body.toString().trim().split("\n"))
        conforms(["components", "schemas", "AuditEntry"], JSON.parse(line), about);
    if (answer.status < 400) return;
    const codes = Object.keys(described.content[found]!.examples!);
    assert.ok(codes.includes(json<{ code: string }>(answer).code), `an undocumented code: ${about}`);
  };
}
