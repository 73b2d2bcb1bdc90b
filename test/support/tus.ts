// A tus client, in a few lines over fetch.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { TestApp, TestUser } from "./app.ts";

/** Sends a request as a tus client. */
export function tus(
  server: TestApp,
  user: TestUser,
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body: Uint8Array | null = null,
): Promise<Response> {
  const type = body ? { "content-type": "application/offset+octet-stream" } : {};
  return fetch(server.url + path, {
    method,
    headers: { ...user.headers, "tus-resumable": "1.0.0", ...type, ...headers },
    body: body as Uint8Array<ArrayBuffer> | null,
  });
}

export function create(
  server: TestApp,
  user: TestUser,
  length: number | "deferred",
  filename = "a.bin",
): Promise<Response> {
  return tus(server, user, "POST", "/v1/uploads", {
    ...(length === "deferred" ? { "upload-defer-length": "1" } : { "upload-length": `${length}` }),
    "upload-metadata": `filename ${Buffer.from(filename).toString("base64")}`,
  });
}

/** Starts an upload and returns its path. */
export async function newUpload(
  server: TestApp,
  user: TestUser,
  length: number | "deferred",
): Promise<string> {
  const answer = await create(server, user, length);
  assert.equal(answer.status, 201, await answer.clone().text());
  return new URL(answer.headers.get("location")!).pathname;
}

export function patch(
  server: TestApp,
  user: TestUser,
  path: string,
  offset: number,
  body: Uint8Array,
  more: Record<string, string> = {},
): Promise<Response> {
  return tus(server, user, "PATCH", path, { "upload-offset": `${offset}`, ...more }, body);
}

/** The number of refusals after which an upload has failed. The pauses before the last ones outlast a minute. */
const MAX_REFUSED = 200;

/**
 * Uploads in parts that end at `cuts`, and repeats each part until the server accepts it. Returns the id of the
 * attachment, and how many requests were refused.
 */
export async function uploadInParts(
  server: TestApp,
  user: TestUser,
  bytes: Buffer,
  cuts: readonly number[],
): Promise<{ id: string; refused: number }> {
  let refused = 0;
  const refuse = async (answer: Response) => {
    const text = await answer.text();
    assert.equal(answer.status, 503, text);
    assert.ok(++refused < MAX_REFUSED, text);
    await sleep(5 * refused);
  };
  const ask = async (request: () => Promise<Response>, expected: number) => {
    for (;;) {
      const answer = await request();
      if (answer.status === expected) return answer;
      await refuse(answer);
    }
  };
  const created = await ask(() => create(server, user, bytes.length), 201);
  const path = new URL(created.headers.get("location")!).pathname;
  for (let known = 0; ; ) {
    const head = await ask(() => tus(server, user, "HEAD", path), 200);
    const id = head.headers.get("parley-attachment");
    if (id !== null) return { id, refused };
    const offset = Number(head.headers.get("upload-offset"));
    assert.ok(offset >= known, `${offset} bytes, and ${known} were acknowledged`);
    const end = cuts.find((cut) => cut > offset);
    const answer = await patch(server, user, path, offset, bytes.subarray(offset, end));
    if (answer.status === 204) known = Number(answer.headers.get("upload-offset"));
    else await refuse(answer);
  }
}
