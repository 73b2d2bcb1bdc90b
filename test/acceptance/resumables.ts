// Clients of the two protocols of resumable uploads, a few lines each over fetch or a plain socket.
import assert from "node:assert/strict";
import { once } from "node:events";
import * as http from "node:http";
import * as https from "node:https";
import { type Attachment, attachment, call, location, type Options, type Reply } from "./client.ts";
import { target } from "./target.ts";

export const TUS = { "tus-resumable": "1.0.0" };
export const TUS_TYPE = "application/offset+octet-stream";

export function metadata(fields: Record<string, string>): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name} ${Buffer.from(value).toString("base64")}`)
    .join(",");
}

/** Creates an upload by the tus protocol. */
export function createTus(
  length: number | "deferred",
  fields: Record<string, string> = { filename: "file.bin" },
  options: Options = {},
): Promise<Reply> {
  return call("POST", "/v1/uploads", {
    ...options,
    headers: {
      ...TUS,
      ...(length === "deferred" ? { "upload-defer-length": "1" } : { "upload-length": `${length}` }),
      "upload-metadata": metadata(fields),
      ...options.headers,
    },
  });
}

/** Creates an upload and returns its path. */
export async function newTus(
  length: number | "deferred",
  fields?: Record<string, string>,
  token?: string,
): Promise<string> {
  const reply = await createTus(length, fields, token === undefined ? {} : { token });
  assert.equal(reply.status, 201, reply.text);
  return location(reply);
}

export function patchTus(
  path: string,
  offset: number,
  body: Buffer | string,
  headers: Record<string, string> = {},
  token?: string,
): Promise<Reply> {
  return call("PATCH", path, {
    headers: { ...TUS, "content-type": TUS_TYPE, "upload-offset": `${offset}`, ...headers },
    body: Buffer.from(body),
    ...(token === undefined ? {} : { token }),
  });
}

/** Returns the server's offset. */
export async function offsetOf(path: string): Promise<number> {
  const reply = await call("HEAD", path, { headers: TUS });
  assert.equal(reply.status, 200);
  return Number(reply.headers.get("upload-offset"));
}

/** Returns the attachment of a complete upload. */
export async function finished(reply: Reply): Promise<Attachment> {
  assert.ok(reply.status < 300, reply.text);
  const id = reply.headers.get("parley-attachment");
  assert.ok(id, "the upload is not complete");
  return attachment(await call("GET", `/v1/attachments/${id}`));
}

/** Asserts that the file has these bytes. */
export async function assertBytes({ file_url, file_size }: Attachment, bytes: Buffer): Promise<void> {
  const got = await call("GET", file_url, { token: null });
  assert.equal(got.status, 200);
  assert.equal(file_size, bytes.length);
  assert.ok(got.bytes.equals(bytes), "the file has other bytes");
}

/** A version of the draft: its headers for parts. */
export interface Draft {
  version: number;
  /** Returns the headers of a part. */
  part(isLast: boolean): Record<string, string>;
}

export const DRAFTS: Draft[] = [3, 5, 6, 8].map((version) => ({
  version,
  part: (isLast) => ({
    "upload-draft-interop-version": `${version}`,
    ...(version === 3
      ? { "upload-incomplete": isLast ? "?0" : "?1" }
      : { "upload-complete": isLast ? "?1" : "?0" }),
    ...(version >= 6 ? { "content-type": "application/partial-upload" } : {}),
  }),
}));

/** A request whose body has not ended: the client may send more, or disconnect. */
export interface OpenRequest {
  request: http.ClientRequest;
  /** Resolves with the status, or "closed" if the connection ends without an answer. */
  answered: Promise<number | "closed">;
}

/** Sends a part of the body without ending the request. */
export function openPatch(
  path: string,
  headers: Record<string, string>,
  length: number | undefined,
  part: Buffer,
): OpenRequest {
  const { request: send } = target.url.startsWith("https:") ? https : http;
  const request = send(target.url + path, {
    method: "PATCH",
    agent: false,
    headers: {
      authorization: `Bearer ${target.token}`,
      ...(length === undefined ? {} : { "content-length": length }),
      ...headers,
    },
  });
  const answered = Promise.race([
    once(request, "response").then(([response]) => (response as http.IncomingMessage).statusCode!),
    once(request, "close").then(() => "closed" as const),
  ]).catch(() => "closed" as const);
  request.write(part);
  return { request, answered };
}
