import { type TestContext, test } from "node:test";
import { onPostgres, runAcceptanceOn } from "../support/acceptance.ts";
import { credentials, noS3, storeUrl, testBucket } from "../support/engines/s3.ts";

function onS3(t: TestContext): Record<string, string> {
  return { PARLEY_STORE: storeUrl(testBucket(t)), ...credentials() };
}

const options = { skip: noS3, timeout: 600_000 };

test("the acceptance suite passes on PostgreSQL and S3", options, async (t) =>
  runAcceptanceOn(t, { ...(await onPostgres(t)), ...onS3(t) }),
);

test("the acceptance suite passes on SQLite and S3", options, (t) => runAcceptanceOn(t, onS3(t)));
