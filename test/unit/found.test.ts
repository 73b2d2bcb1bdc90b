import assert from "node:assert/strict";
import { test } from "node:test";
import { readConfig } from "../../src/config/settings.ts";
import { detectType } from "../../src/core/files/media-types.ts";
import { decodeUtf8 } from "../../src/http/protocol/bodies.ts";
import type { BodyReader } from "../../src/http/protocol/body-reader.ts";
import { MultipartReader } from "../../src/http/protocol/multipart.ts";

// Regression tests for faults found once by fuzzing and corpora.

function reader(chunks: string[], maxHeaderBytes: number): MultipartReader {
  const left = chunks.map((chunk) => Buffer.from(chunk));
  const source = { next: async () => left.shift() ?? null } as unknown as BodyReader;
  return new MultipartReader(source, "b", maxHeaderBytes);
}

test("the limit of a header block does not depend on chunk boundaries", async () => {
  const head = 'Content-Disposition: form-data; name="a"';
  for (let cut = 1; cut <= 4; cut++) {
    const text = `--b\r\n${head}\r\n\r\nx\r\n--b--`;
    const at = text.indexOf("\r\n\r\n") + cut;
    const part = await reader([text.slice(0, at), text.slice(at)], head.length).next();
    assert.equal(part?.name, "a", `cut after ${cut} bytes of the end`);
  }
});

test("a backslash before a line separator is part of the name", async () => {
  const part = await reader(
    [`--b\r\nContent-Disposition: form-data; name="a"; filename="x\\\u2028y"\r\n\r\n\r\n--b--`],
    200,
  ).next();
  assert.equal(part?.filename, "x\\\u2028y");
});

test("a byte order mark is an ordinary character", () => {
  assert.equal(decodeUtf8(Buffer.from("\ufeffa=1")), "\ufeffa=1");
});

test("a public URL with a query or fragment, even empty, or a password is refused", () => {
  for (const url of ["https://a.example/?", "https://a.example/#", "https://:pw@a.example"]) {
    assert.throws(() => readConfig({ PARLEY_PUBLIC_URL: url }), /PARLEY_PUBLIC_URL must be/);
  }
});

test("an origin that no browser sends is refused", () => {
  for (const origin of ["https://*.example", "ftp://x", "https://a.example/"]) {
    assert.throws(() => readConfig({ PARLEY_CORS_ORIGINS: origin }), /PARLEY_CORS_ORIGINS must be/);
  }
});

test("a name without an extension implies no type", async () => {
  for (const name of ["png", "Doc", ".mp4"]) {
    assert.equal(await detectType(new Uint8Array(0), undefined, name), "application/octet-stream", name);
  }
  assert.equal(
    await detectType(new Uint8Array(0), "application/postscript", "a.ps"),
    "application/postscript",
  );
});
