// A large file in parts, beside the same file in one request.
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { median } from "./load.ts";
import { addPeople, type Headers } from "./people.ts";
import { FORM_TYPE, form, MIB } from "./requests.ts";
import { startParley } from "./servers.ts";
import { settle } from "./subject.ts";

const FILE_BYTES = 64 * MIB;
const PART_BYTES = 8 * MIB;
const ROUNDS = 7;
/** Files of one round, one after another. */
const FILES = 4;

/** Returns how many files are uploaded in parts while one is in one request. */
export async function resumableUploads(folder: string): Promise<Record<string, number>> {
  await using stack = new AsyncDisposableStack();
  const dataFolder = join(folder, "resumable");
  const { port } = await startParley(stack, dataFolder);
  const [person] = await addPeople(port, dataFolder, ["somebody"]);
  const { headers } = person!;
  const url = `http://127.0.0.1:${port}`;
  const whole = new Uint8Array(form(FILE_BYTES));
  const parts = Array.from(
    { length: FILE_BYTES / PART_BYTES },
    () => new Uint8Array(randomBytes(PART_BYTES)),
  );
  const ways = {
    atOnce: () => ask(`${url}/v1/attachments`, "POST", { ...headers, ...FORM_TYPE }, whole, 201),
    inParts: () => sendParts(url, headers, parts),
  };
  const taken = { atOnce: [] as number[], inParts: [] as number[] };
  for (let round = -1; round < ROUNDS; round++) {
    for (const way of ["atOnce", "inParts"] as const) {
      const ids: string[] = [];
      const begun = performance.now();
      while (ids.length < FILES) ids.push(await idOf(await ways[way]()));
      if (round >= 0) taken[way].push(performance.now() - begun);
      for (const id of ids) await ask(`${url}/v1/attachments/${id}`, "DELETE", headers, null, 204);
      settle(folder);
    }
  }
  return { resumable64m: median(taken.atOnce) / median(taken.inParts) };
}

/** By the draft of the IETF, of which the last answer is the attachment. */
async function sendParts(url: string, headers: Headers, parts: readonly Uint8Array<ArrayBuffer>[]) {
  const started = await ask(
    `${url}/v1/uploads?filename=photo.bin`,
    "POST",
    { ...headers, "upload-complete": "?0", "upload-length": String(FILE_BYTES) },
    null,
    201,
  );
  const address = started.headers.get("location")!;
  let answer = started;
  for (const [i, part] of parts.entries()) {
    const isLast = i === parts.length - 1;
    answer = await ask(
      address,
      "PATCH",
      {
        ...headers,
        "content-type": "application/partial-upload",
        "upload-offset": String(i * PART_BYTES),
        "upload-complete": isLast ? "?1" : "?0",
      },
      part,
      isLast ? 200 : 204,
    );
  }
  return answer;
}

async function ask(
  url: string,
  method: string,
  headers: Headers,
  body: Uint8Array<ArrayBuffer> | null,
  status: number,
): Promise<Response> {
  const answer = await fetch(url, { method, headers, body });
  if (answer.status !== status) throw new Error(`${answer.status} ${await answer.text()}`);
  return answer;
}

async function idOf(answer: Response): Promise<string> {
  return ((await answer.json()) as { id: string }).id;
}
