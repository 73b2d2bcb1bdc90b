// Pictures of users that tests send.
import assert from "node:assert/strict";
import sharp from "sharp";
import type { TestApp, TestUser } from "./app.ts";
import { read } from "./people.ts";

/** The path of the caller's own picture. */
export const MINE = "/v1/me/avatar";

export interface Shown {
  avatar_url: string | null;
  storage: { used: number };
}

/** Sends a picture with a name and a declared type that say something else. */
export function put(
  server: TestApp,
  who: TestUser,
  bytes: Uint8Array,
  path = MINE,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(server.url + path, {
    method: "PUT",
    headers: { ...who.headers, ...headers },
    body: form(bytes),
  });
}

export function form(bytes: Uint8Array): FormData {
  const form = new FormData();
  form.set("file", new File([Uint8Array.from(bytes)], "page.html", { type: "text/html" }));
  return form;
}

/** Sets a picture and returns its address. It does not count in the user's storage. */
export async function setAvatar(
  server: TestApp,
  who: TestUser,
  bytes: Uint8Array,
  path = MINE,
): Promise<string> {
  const { avatar_url, storage } = await read<Shown>(put(server, who, bytes, path), 200);
  assert.equal(storage.used, 0);
  return avatar_url!;
}

/** Returns a picture of noise, which is too large for the database. */
export function large(background: string): Promise<Buffer> {
  const noise = { type: "gaussian" as const, mean: 128, sigma: 40 };
  return sharp({ create: { width: 700, height: 700, channels: 3, background, noise } })
    .jpeg()
    .toBuffer();
}

/** Returns a picture of one color, which is stored in the database. */
export function plain(width: number, height = width): Promise<Buffer> {
  return sharp({ create: { width, height, channels: 3, background: "#123456" } })
    .png()
    .toBuffer();
}
