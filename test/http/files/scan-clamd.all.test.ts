// Scanning files by clamd, as packaged by Debian.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createApp } from "../../../src/app.ts";
import { startOn, testConfig, upload } from "../../support/app.ts";
import { without } from "../../support/engines/packages.ts";
import { EICAR, scanSettings, startClamd } from "../../support/engines/scanner.ts";
import { eventually, storedFiles } from "../../support/files-on-disk.ts";
import { filesOf, person, read } from "../../support/people.ts";

const options = { skip: without("/usr/sbin/clamd") };
const MIB = 1024 * 1024;

test("clamd finds EICAR in files of any size, and accepts clean ones", options, async (t) => {
  const port = await startClamd(t, ["StreamMaxLength 5M", "MaxFileSize 5M", "MaxScanSize 5M"]);
  const server = await startOn(t, {
    ...(await testConfig(t, { maxFileBytes: 4 * MIB })),
    scan: scanSettings(port, { maxBytes: 4 * MIB }),
  });
  const ann = await person(server, "ann");
  const give = (bytes: string | Uint8Array<ArrayBuffer>) =>
    upload(server.url, ann, new File([bytes], "a.txt"));
  for (const padding of [0, 10, 100_000, 4 * MIB - EICAR.length]) {
    const problem = await read<{ code: string; detail: string }>(give(EICAR + " ".repeat(padding)), 422);
    assert.equal(problem.code, "file_infected");
    assert.match(
      problem.detail,
      /^The virus scanner found Eicar-Test-Signature(\.UNOFFICIAL)? in the file\. /,
    );
    await read(give("x".repeat(EICAR.length + padding)), 201);
  }
  await read(give(""), 201);
  assert.equal((await filesOf(server, ann)).length, 5);
  assert.ok(await eventually(async () => (await storedFiles(server.config)).length === 2));
});

test("clamd with limits below the largest file is refused at the start", options, async (t) => {
  const config = await testConfig(t, { maxFileBytes: 4 * MIB });
  for (const lines of [
    // clamd reports files above MaxFileSize as clean.
    ["StreamMaxLength 10M", "MaxFileSize 1M", "MaxScanSize 1M"],
    // clamd closes the connection after StreamMaxLength bytes.
    ["StreamMaxLength 1M", "MaxFileSize 10M", "MaxScanSize 10M"],
  ]) {
    const scan = scanSettings(await startClamd(t, lines), { maxBytes: 4 * MIB });
    await assert.rejects(
      createApp({ ...config, scan }),
      /^Error: PARLEY_SCAN: .*4 MiB.*StreamMaxLength, MaxFileSize and MaxScanSize to at least 4 MiB, and AlertExceedsMax yes/,
    );
  }
  const port = await startClamd(t, [
    "StreamMaxLength 10M",
    "MaxFileSize 1M",
    "MaxScanSize 1M",
    "AlertExceedsMax yes",
  ]);
  const app = await createApp({ ...config, scan: scanSettings(port, { maxBytes: 4 * MIB }) });
  await app.start();
  await app.stop();
});
