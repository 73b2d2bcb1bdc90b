// What the two protocols of resumable uploads refuse, and how.
import assert from "node:assert/strict";
import { test } from "node:test";
import { attachment, call, faulty, location, newContact, problem, unknownLike } from "../client.ts";
import { createTus, DRAFTS, finished, metadata, newTus, offsetOf, patchTus, TUS } from "../resumables.ts";
import { newAttachment } from "../upload.ts";

test("another tus version is 412 with the supported one, and a part of another type is 415", async () => {
  const reply = await createTus(2, undefined, { headers: { "tus-resumable": "0.2.2" } });
  problem(reply, 412, "unsupported_upload_protocol");
  assert.equal(reply.headers.get("tus-version"), "1.0.0");
  const path = await newTus(2);
  for (const type of ["text/plain", "application/partial-upload", ""])
    problem(await patchTus(path, 0, "ab", { "content-type": type }), 415, "unsupported_media_type");
  const withBytes = { headers: { "content-type": "text/plain" }, body: "ab" };
  problem(await createTus(2, undefined, withBytes), 415, "unsupported_media_type");
  const { "content-type": _, ...part } = DRAFTS.at(-1)!.part(true);
  const untyped = { headers: { ...part, "upload-offset": "0", "content-type": "text/plain" }, body: "ab" };
  problem(await call("PATCH", path, untyped), 415, "unsupported_media_type");
  assert.equal(await offsetOf(path), 0);
});

test("creating a resumable upload checks the same as an upload in one request", async () => {
  const { conversation_id } = await newContact();
  const filename = "a.txt";
  faulty(await createTus(2, {}), "filename", "missing_parameter");
  faulty(await createTus(2, { filename: "x".repeat(256) }), "filename");
  faulty(await createTus(2, { filename, surprise: "x" }), "surprise");
  const withMetadata = (text: string) => createTus(2, undefined, { headers: { "upload-metadata": text } });
  for (const odd of [
    "filename %%%",
    "filename =YQ==",
    "filename  YQ==",
    "filename YQ==,",
    "filename YQ== YQ==",
    "filename //4=",
  ])
    faulty(await withMetadata(odd), "Upload-Metadata");
  faulty(await withMetadata("filename YQ==,filename Yg=="), "filename", "repeated_parameter");
  faulty(await withMetadata("filename"), "filename");
  for (const odd of ["-2", "2abc", "2.0", "", "1e3", "99999999999999999999"])
    faulty(await createTus(2, undefined, { headers: { "upload-length": odd } }), "Upload-Length");
  faulty(await createTus(2, undefined, { headers: { "upload-defer-length": "1" } }), "Upload-Length");
  faulty(
    await createTus("deferred", undefined, { headers: { "upload-defer-length": "2" } }),
    "Upload-Defer-Length",
  );
  const neither = { ...TUS, "upload-metadata": metadata({ filename }) };
  faulty(await call("POST", "/v1/uploads", { headers: neither }), "Upload-Length");
  const refused = await createTus(2, { filename, conversation_id: unknownLike(conversation_id) });
  problem(refused, 404, "conversation_not_found");
  assert.equal(refused.headers.get("tus-resumable"), "1.0.0");
  problem(await createTus(2, { filename, message_id: "nonsense" }), 404, "message_not_found");
  const { message_id } = await newAttachment();
  faulty(await createTus(2, { filename, conversation_id, message_id }), "message_id");
  const file = await finished(await patchTus(await newTus(2, { filename, message_id }), 0, "ab"));
  assert.equal(file.message_id, message_id);
});

test("a part without an offset, or of a concatenation, is refused", async () => {
  const path = await newTus(2);
  const headers = { ...TUS, "content-type": "application/offset+octet-stream" };
  faulty(await call("PATCH", path, { headers, body: "ab" }), "Upload-Offset", "missing_parameter");
  assert.equal(await offsetOf(path), 0);
  const { "tus-resumable": _, ...without } = { ...headers, "upload-offset": "0" };
  faulty(await call("PATCH", path, { headers: without, body: "ab" }), "Tus-Resumable", "missing_parameter");
  for (const concat of ["partial", "final;/v1/uploads/a /v1/uploads/b"])
    faulty(await createTus(2, undefined, { headers: { "upload-concat": concat } }), "Upload-Concat");
});

test("a client of the draft gets an error for wrong headers", async () => {
  faulty(await call("POST", "/v1/uploads?filename=a"), "Upload-Complete", "missing_parameter");
  faulty(
    await call("POST", "/v1/uploads?filename=a", { headers: { "upload-complete": "true" } }),
    "Upload-Complete",
  );
  faulty(
    await call("POST", "/v1/uploads?filename=a", {
      headers: { "upload-complete": "?0", "upload-draft-interop-version": "4" },
    }),
    "Upload-Draft-Interop-Version",
  );
  const odd = { "upload-complete": "?1", "upload-length": "5" };
  problem(
    await call("POST", "/v1/uploads?filename=a", { headers: odd, body: "four" }),
    400,
    "upload_length_mismatch",
  );
});

test("nothing is stored of an upload whose first bytes exceed its length", async () => {
  const unfinished = async () => (await call("GET", "/v1/uploads?limit=100")).text;
  const before = await unfinished();
  const headers = { "content-type": "application/offset+octet-stream" };
  const known = await createTus(3, undefined, { headers, body: "more than three" });
  problem(known, 400, "upload_length_mismatch");
  assert.equal(known.headers.get("location"), null);
  assert.equal(await unfinished(), before);
});

test("a refused part does not reveal the file's length", async () => {
  const started = await call("POST", "/v1/uploads?filename=a", { headers: { "upload-complete": "?0" } });
  const path = location(started);
  const last = { ...DRAFTS.at(-1)!.part(true), "upload-offset": "0" };
  const wrong = { ...last, "content-digest": `sha-256=:${Buffer.alloc(32).toString("base64")}:` };
  problem(await call("PATCH", path, { headers: wrong, body: "short" }), 400, "digest_mismatch");
  assert.equal(((await call("GET", path)).json as { length: unknown }).length, null);
  const whole = await call("PATCH", path, { headers: last, body: "a longer one" });
  assert.equal(attachment(whole).file_size, 12);
});
