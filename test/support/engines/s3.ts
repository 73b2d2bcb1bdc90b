import { execFileSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { S3 } from "@aws-sdk/client-s3";
import type { S3Settings } from "../../../src/config/parse.ts";
import { freePort } from "../command.ts";
import { without } from "./packages.ts";

const SCRIPT = fileURLToPath(new URL("s3.sh", import.meta.url));
const PREFIX = "PARLEY_TEST_S3_";

/** Why there is no S3 store to test with; false if there is one. */
export const noS3 = process.env.PARLEY_TEST_S3_ENDPOINT
  ? false
  : (process.env.PARLEY_TEST_S3_MISSING ?? "run the test by `npm run t`, which starts an S3 store");

/**
 * Starts a store for this run, or uses the one in the environment. Sets `PARLEY_TEST_S3_*` for tests, or the reason why
 * there is no store. Returns a function that stops it.
 */
export async function startS3(): Promise<() => void> {
  if (process.env.PARLEY_TEST_S3_ENDPOINT) return () => {};
  const missing = without("/usr/bin/swift-proxy-server");
  if (missing) {
    process.env.PARLEY_TEST_S3_MISSING = missing;
    return () => {};
  }
  const folder = mkdtempSync(join(tmpdir(), "parley-s3-"));
  const stop = () => void execFileSync(SCRIPT, ["stop", folder]);
  try {
    const ports = await Promise.all(Array.from({ length: 4 }, freePort));
    const lines = execFileSync(SCRIPT, ["start", folder, ...ports.map(String)], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const [, name, value] of lines.matchAll(/^(\w+)=(.*)$/gm)) process.env[PREFIX + name] = value;
    process.env[`${PREFIX}IS_TEMPORARY`] = "true";
  } catch (error) {
    const said = String((error as { stderr?: string }).stderr ?? error).trim();
    process.env.PARLEY_TEST_S3_MISSING = `no S3 store can be started: ${said}`;
    stop();
    return () => {};
  }
  return stop;
}

/** Returns the environment variables with the store's credentials. */
export function credentials(): Record<string, string> {
  return {
    AWS_ACCESS_KEY_ID: process.env.PARLEY_TEST_S3_ACCESS_KEY_ID!,
    AWS_SECRET_ACCESS_KEY: process.env.PARLEY_TEST_S3_SECRET_ACCESS_KEY!,
  };
}

let buckets = 0;

/**
 * Returns a new bucket's settings. The bucket does not exist yet, and is removed after the test, unless the store is
 * removed with the run. Sets the credentials of this process.
 */
export function testBucket(t: TestContext): S3Settings {
  Object.assign(process.env, credentials());
  const settings = {
    bucket: `parley-test-${process.pid}-${++buckets}`,
    endpoint: process.env.PARLEY_TEST_S3_ENDPOINT!,
    region: process.env.PARLEY_TEST_S3_REGION ?? "us-east-1",
    pathStyle: process.env.PARLEY_TEST_S3_PATH_STYLE === "true",
  };
  if (process.env.PARLEY_TEST_S3_IS_TEMPORARY !== "true") t.after(() => removeBucket(settings));
  return settings;
}

/** Returns the same as a value of `PARLEY_STORE`. */
export function storeUrl({ bucket, endpoint, region, pathStyle }: S3Settings): string {
  const query = { endpoint: endpoint!, region, path_style: String(pathStyle) };
  return `s3://${bucket}?${new URLSearchParams(query)}`;
}

/** Returns a client that reads a bucket without Parley's code. */
export function clientOf({ endpoint, region, pathStyle }: S3Settings): S3 {
  return new S3({
    endpoint: endpoint!,
    region,
    forcePathStyle: pathStyle,
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
  });
}

/** Returns the names of a bucket's objects and of its unfinished multipart uploads. */
export async function contentOf(settings: S3Settings): Promise<{ objects: string[]; uploads: string[] }> {
  const s3 = clientOf(settings);
  const Bucket = settings.bucket;
  const { Contents = [] } = await s3.listObjectsV2({ Bucket });
  const { Uploads = [] } = await s3.listMultipartUploads({ Bucket });
  return { objects: Contents.map((each) => each.Key!), uploads: Uploads.map((each) => each.Key!) };
}

async function removeBucket(settings: S3Settings): Promise<void> {
  const s3 = clientOf(settings);
  const Bucket = settings.bucket;
  try {
    const { Contents = [] } = await s3.listObjectsV2({ Bucket });
    for (const { Key } of Contents) await s3.deleteObject({ Bucket, Key: Key! });
    const { Uploads = [] } = await s3.listMultipartUploads({ Bucket });
    for (const { Key, UploadId } of Uploads)
      await s3.abortMultipartUpload({ Bucket, Key: Key!, UploadId: UploadId! });
    await s3.deleteBucket({ Bucket });
  } catch (error) {
    // Some tests never create the bucket.
    if ((error as Error).name !== "NoSuchBucket") throw error;
  }
}
