// HTTP scanners, and the check of a scanner at the start.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { createApp } from "../../../src/app.ts";
import { testConfig } from "../../support/app.ts";
import { EICAR, scanSettings, testScanner } from "../../support/engines/scanner.ts";
import { code, filesOf, read } from "../../support/people.ts";
import { clean, give, infected, LARGE, MAX_BYTES, SIZES, site } from "./scan-site.ts";

/** A scanner that receives files by POST. */
async function httpScanner(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/scan`;
}

test("an HTTP scanner gets the file, and answers 204 or 422", async (t) => {
  const bodies: Buffer[] = [];
  let odd: number | undefined;
  const address = await httpScanner(t, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    bodies.push(body);
    assert.deepEqual([request.method, request.headers["content-type"]], ["POST", "application/octet-stream"]);
    if (odd) return response.writeHead(odd, { location: "/elsewhere" }).end("clean");
    if (!body.includes(EICAR)) return response.writeHead(204).end();
    return response.writeHead(422, { "content-type": "text/plain" }).end("Eicar-Test-Signature\n");
  });
  const place = await site(t, { address, timeoutMs: 5000 });
  bodies.length = 0;
  for (const size of SIZES) {
    assert.equal((await give(place, clean(size))).status, 201);
    const { detail } = await read<{ detail: string }>(give(place, infected(size)), 422);
    assert.match(detail, /found Eicar-Test-Signature in/);
  }
  assert.deepEqual(
    bodies,
    SIZES.flatMap((size) => [clean(size), infected(size)]),
  );
  for (const status of [200, 302, 400, 404, 500, 503]) {
    odd = status;
    assert.equal(await code(give(place, clean(LARGE)), 503), "unavailable", String(status));
  }
  assert.equal((await filesOf(place.server, place.ann)).length, 2);
});

test("an early 204, silence or an aborted connection of an HTTP scanner is no verdict", async (t) => {
  let listener: RequestListener = (request, response) => {
    request.resume().on("end", () => response.writeHead(422).end("a\u0007b"));
  };
  const address = await httpScanner(t, (request, response) => listener(request, response));
  const place = await site(t, { address, timeoutMs: 3000 });
  assert.match(
    (await read<{ detail: string }>(give(place, clean(9)), 422)).detail,
    /found a virus without a name in/,
  );
  for (const next of [
    (_, response) => void response.writeHead(204).end(),
    (request) => void request.resume(),
    (request) => void request.socket.destroy(),
    (request) => void request.resume().on("end", () => request.socket.destroy()),
  ] as RequestListener[]) {
    listener = next;
    assert.equal(await code(give(place, clean(MAX_BYTES)), 503), "unavailable");
  }
  assert.deepEqual(await filesOf(place.server, place.ann), []);
});

test("at the start a scanner must find EICAR in a file of the largest size", async (t) => {
  const scanner = await testScanner(t);
  const config = { ...(await testConfig(t)), scan: scanSettings(scanner.port) };
  const start = async () => {
    const app = await createApp(config);
    await app.stop();
  };
  await start();
  assert.deepEqual(
    scanner.files.map((file) => [file.length, file.includes(EICAR)]),
    [[1_000_000, true]],
  );
  scanner.behaviour = (socket, _, isComplete) => isComplete && socket.end("stream: OK\0");
  await assert.rejects(
    start(),
    /does not find the EICAR test file if it has 1000000 B\. In clamd\.conf set /,
  );
  scanner.behaviour = (socket, file) => {
    if (file.length > 500_000) socket.end("INSTREAM size limit exceeded. ERROR\0");
  };
  await assert.rejects(
    start(),
    /clamd answered "INSTREAM size limit exceeded\. ERROR\\u0000"\. Check that it is running\. In clamd\.conf set /,
  );
  await scanner.stop();
  await assert.rejects(start(), /the scanner failed at a file of 1000000 B: connect ECONNREFUSED/);
});
