// Resumable uploads during faults: each acknowledged part is recorded, and interrupted uploads continue afterwards.
import { createHash } from "node:crypto";
import type { Answer, Client } from "./client.ts";
import type { AckRecord, BegunUpload } from "./record.ts";

const TUS = { "tus-resumable": "1.0.0" };

type Send = (answered: Promise<Answer>) => Promise<Answer>;
const asIs: Send = (answered) => answered;

/** Starts an upload of these bytes. If there is no upload in the result, the answer was an error. */
export async function beginUpload(
  client: Client,
  filename: string,
  bytes: Buffer,
  send: Send = asIs,
): Promise<{ upload: BegunUpload | undefined; answer: Answer }> {
  const answer = await send(
    client.send("POST", "/v1/uploads", undefined, {
      ...TUS,
      "content-length": 0,
      "upload-length": bytes.length,
      "upload-metadata": `filename ${Buffer.from(filename).toString("base64")}`,
    }),
  );
  if (answer.status !== 201) return { upload: undefined, answer };
  const { pathname } = new URL(answer.headers.location!);
  return { upload: { path: pathname, filename, bytes, offset: 0 }, answer };
}

/** Sends the bytes up to `end`, and records the answer. */
export async function addPart(
  client: Client,
  record: AckRecord,
  upload: BegunUpload,
  end: number,
  send: Send = asIs,
): Promise<Answer> {
  const { path, bytes, offset } = upload;
  const headers = { ...TUS, "content-type": "application/offset+octet-stream", "upload-offset": offset };
  const answer = await send(client.send("PATCH", path, bytes.subarray(offset, end), headers));
  if (answer.status === 204) note(record, upload, answer);
  return answer;
}

function note(record: AckRecord, upload: BegunUpload, answer: Answer): void {
  upload.offset = Number(answer.headers["upload-offset"]);
  record.offsets++;
  const id = answer.headers["parley-attachment"] as string | undefined;
  if (id === undefined) return;
  const sha256 = createHash("sha256").update(upload.bytes).digest("hex");
  record.made("attachments", id, upload.filename, { sha256 });
  record.begunUploads.delete(upload);
}

/** Continues interrupted uploads. Returns the problems: lost acknowledged offsets, and uploads that cannot continue. */
export async function continueUploads(client: Client, record: AckRecord): Promise<string[]> {
  const problems: string[] = [];
  for (const upload of record.begunUploads) {
    const { path, bytes, offset } = upload;
    const head = await client.send("HEAD", path, undefined, TUS);
    // The upload waits while the disk is full.
    if (head.status === 507) continue;
    const found = Number(head.headers["upload-offset"]);
    if (head.status !== 200 || found < offset) {
      problems.push(`lost: ${path} has ${found} of ${offset} bytes that were acknowledged (${head.status})`);
      record.begunUploads.delete(upload);
      continue;
    }
    note(record, upload, head);
    record.continued++;
    if (!record.begunUploads.has(upload)) continue;
    const answer = await addPart(client, record, upload, bytes.length);
    if (!record.begunUploads.has(upload) || answer.status === 507) continue;
    problems.push(`${path} cannot go on at ${found}: ${answer.status} ${answer.body}`);
    record.begunUploads.delete(upload);
  }
  return problems;
}
