// Tests that large files cannot bypass `parley upload --strip-metadata`.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { commandLine, tokenOf } from "../support/command.ts";
import { EOI, jpegFrame, jpegSegment, SOI } from "../support/picture-bytes.ts";
import { items, person } from "./person.ts";

const SECRET = Buffer.from("the beach of Brighton");

test("--strip-metadata removes metadata from small and large pictures, and refuses other files", async (t) => {
  const operator = await commandLine(t);
  const token = tokenOf(await operator.serve());
  const ada = await person(t, { PARLEY_URL: operator.url, PARLEY_TOKEN: token });
  const [start, scan] = [Buffer.concat([SOI, jpegFrame(3, 4)]), jpegSegment(0xda)];
  for (const pixels of [1000, 17 * 2 ** 20]) {
    const end = Buffer.concat([scan, Buffer.alloc(pixels), EOI]);
    const bytes = Buffer.concat([start, jpegSegment(0xfe, SECRET), end]);
    await writeFile(join(ada.folder, "beach.jpg"), bytes);
    const upload = async (...options: string[]) => {
      const [{ id }] = items(await ada.run("upload", "beach.jpg", "--json", ...options));
      assert.equal((await ada.run("download", id, "-o", `${id}.jpg`)).code, 0);
      return readFile(join(ada.folder, `${id}.jpg`));
    };
    assert.ok((await upload("--strip-metadata")).equals(Buffer.concat([start, end])), `${pixels} pixels`);
    assert.ok((await upload()).equals(bytes), `${pixels} pixels`);
  }
  await writeFile(join(ada.folder, "a.txt"), SECRET);
  const refused = await ada.run("upload", "a.txt", "--strip-metadata");
  assert.equal(refused.code, 1);
  assert.match(
    refused.stderr,
    /a\.txt was not uploaded: Metadata can be removed from JPEG, PNG, GIF and WebP/,
  );
  const stored = items(await ada.run("attachments", "list", "--json"));
  assert.deepEqual(
    stored.map(({ filename }) => filename),
    ["beach.jpg", "beach.jpg", "beach.jpg", "beach.jpg"],
  );
});
