// Values of the wrong type, in JSON and in forms, for every operation (ASVS V15.3.5).
import assert from "node:assert/strict";
import { test } from "node:test";
import { SCOPES } from "../../src/core/people/tokens.ts";
import { allOperations } from "../../src/http/routes/operations.ts";
import { startApp } from "../support/app.ts";
import { unknownId, unknownPath } from "./attack.ts";

/** Valid values of required fields, for the requests that test another field. */
const REQUIRED: Record<string, string> = {
  username: "ada",
  phone_number: "555",
  user_id: unknownId("usr"),
  url: "https://1.1.1.1/",
  endpoint: "https://1.1.1.1/",
  // The keys of RFC 8291, section 5.
  p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
  auth: "BTBZMqHH6r4Tts7J_aSIgg",
  conversation_id: unknownId("cnv"),
  message_id: unknownId("msg"),
  text: "hello",
  name: "climbers",
  role: "admin",
};
/** Fields without which a request is refused, though another field can replace them. */
const ALWAYS = ["conversation_id", "text", "username", "phone_number"];
/** A value of each type. */
const VALUES = { boolean: true, integer: 4_102_444_800 };
/** The values of integers that are no times. */
const INTEGERS: Record<string, number> = { message_limit: 60 };

test("fields of the wrong JSON type are 400, while each value of a form is text", async (t) => {
  const server = await startApp(t);
  const user = await server.user({ scopes: SCOPES });
  const tried: string[] = [];
  for (const { name, method, path, body: shape } of allOperations) {
    if (method === "GET" || typeof shape === "string") continue;
    const address = unknownPath(path);
    const isRefused = async (param: string, type: string, body: string | URLSearchParams) => {
      const headers = { ...user.headers, "content-type": type };
      const answer = await fetch(server.url + address, { method, headers, body });
      const problem = (await answer.json()) as { code?: string; param?: string };
      if (answer.status !== 400) return false;
      assert.deepEqual([problem.code, problem.param], ["invalid_parameter", param], `${name} ${body}`);
      return true;
    };
    for (const [param, field] of Object.entries(shape)) {
      const needed: string[] = Object.entries(shape).flatMap(([key, { required }]) =>
        required || ALWAYS.includes(key) ? [key] : [],
      );
      const rest = Object.fromEntries(needed.map((key) => [key, REQUIRED[key]]));
      const json = (value: unknown) =>
        isRefused(param, "application/json", JSON.stringify({ ...rest, [param]: value }));
      const form = (value: string) =>
        isRefused(
          param,
          "application/x-www-form-urlencoded",
          new URLSearchParams({ ...rest, [param]: value } as Record<string, string>),
        );
      const types = [field.schema.type].flat() as string[];
      for (const [type, any] of Object.entries(VALUES)) {
        const value = type === "integer" ? (INTEGERS[param] ?? any) : any;
        const where = `${name}: ${param} ${value}`;
        assert.equal(await json(value), !types.includes(type), `${where}, in JSON`);
        // Some strings are refused for another reason: "true" is no URL.
        if (types.includes(type) || types.includes("string")) {
          const isText = types.includes("string");
          assert.equal(await json(`${value}`), isText ? await form(`${value}`) : true, `${where}, quoted`);
          if (!isText) assert.equal(await form(`${value}`), false, `${where}, in a form`);
        }
      }
      tried.push(`${name} ${param}`);
    }
  }
  for (const each of ["createToken expires_at", "createWebhook all_users", "updateWebhook enabled"]) {
    assert.ok(tried.includes(each), each);
  }
  t.diagnostic(`${tried.length} fields`);
});

test("a form accepts booleans and numbers only in JSON spelling, and keeps text unchanged", async (t) => {
  const server = await startApp(t);
  const user = await server.user({ scopes: SCOPES });
  const post = async (path: string, fields: Record<string, string>) => {
    const body = new URLSearchParams(fields);
    const answer = await fetch(server.url + path, { method: "POST", headers: user.headers, body });
    return [answer.status, (await answer.json()) as Record<string, unknown>] as const;
  };
  for (const all_users of ["TRUE", "1", "yes", "", " true", "null"]) {
    const [status] = await post("/v1/webhooks", { url: REQUIRED.url!, all_users });
    assert.equal(status, 400, `all_users ${all_users}`);
  }
  for (const expires_at of ["4102444800.0", "4e9", "0x10", " 4102444800", "", "-1", "null"]) {
    const [status] = await post("/v1/tokens", { user_id: user.id, expires_at });
    assert.equal(status, 400, `expires_at ${expires_at}`);
  }
  for (const text of ["true", "4102444800", "null"]) {
    const [status, contact] = await post("/v1/contacts", {
      username: text,
      phone_number: "555",
      display_name: text,
    });
    assert.equal(status, 201);
    assert.deepEqual([contact.username, contact.display_name], [text, text]);
  }
});
