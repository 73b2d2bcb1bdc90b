import type { TestApp, TestUser } from "./app.ts";

export type Json = Record<string, unknown>;

/** Returns a function that sends requests as one user, with objects as JSON and strings as forms. */
export function asker(server: Pick<TestApp, "url">, user: TestUser) {
  return async (
    method: string,
    path: string,
    body?: object | string,
    headers: Record<string, string> = {},
  ) => {
    const type = typeof body === "string" ? "application/x-www-form-urlencoded" : "application/json";
    const response = await fetch(server.url + path, {
      method,
      headers: { ...user.headers, ...(body === undefined ? {} : { "content-type": type }), ...headers },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: (text === "" ? {} : JSON.parse(text)) as Json,
    };
  };
}
