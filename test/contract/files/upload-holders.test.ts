// A resumable upload that another process has taken over, in the database, on both engines.
import assert from "node:assert/strict";
import type { UploadRow } from "../../../src/db/queries/files/upload-resumable.ts";
import { sql } from "../../../src/db/sql.ts";
import { anUpload, aUser } from "../../support/rows.ts";
import { onEachDatabase } from "../databases.ts";

const key = (digit: string) => digit.repeat(32);
const UPLOAD = anUpload("usr_1");

onEachDatabase(
  "a process that lost an upload to another can neither advance it nor take it back",
  async (db) => {
    await db.write("createUser", aUser("usr_1"));
    await db.write("createUpload", { row: UPLOAD, limit: 1, quota: 0 });
    const taking = { row: UPLOAD, newBlobKey: UPLOAD.blob_key, until: 5 };
    assert.equal(await db.write("takeUpload", { ...taking, newHolder: key("2") }), true);
    assert.equal(await db.write("takeUpload", { ...taking, newHolder: key("3") }), false);
    const advance = async (row: UploadRow, received: number, tailKey: string) => {
      await db.write("createIntent", { blobKey: tailKey, until: 5 });
      return db.write("advanceUpload", {
        ...{ row, received, length: null, parts: null, tailKey, now: 2, expiresAt: 10 },
      });
    };
    assert.equal(await advance(UPLOAD, 7, key("c")), false);
    assert.equal(await advance({ ...UPLOAD, holder: key("2") }, 8, key("d")), true);
    const [row, ...others] = await db.all(sql<UploadRow>`SELECT holder, received, tail_key FROM uploads`);
    assert.deepEqual({ ...row }, { holder: key("2"), received: 8, tail_key: key("d") });
    assert.equal(others.length, 0);
    // The tail that came too late has a tombstone.
    const erased = await db.all(sql<{ blob_key: string }>`SELECT blob_key FROM tombstones`);
    assert.deepEqual(
      erased.map(({ blob_key }) => blob_key),
      [key("c")],
    );
  },
);
