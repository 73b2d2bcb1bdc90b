// A large file in parts, beside the same file in one request.
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { median } from "./load.ts";
import { addPeople, type Headers } from "./people.ts";
import { FORM_TYPE, form, MIB } from "./requests.ts";
import { startParley } from "./servers.ts";
import { settle } from "./subject.ts";

const ROUNDS = 7;
/** The bytes of one round, in files of the size that is measured. */
const ROUND_BYTES = 256 * MIB;

interface Place {
  url: string;
  headers: Headers;
  folder: string;
}

/** Returns how many files are uploaded in parts while one is in one request. */
export async function resumableUploads(folder: string): Promise<Record<string, number>> {
  await using stack = new AsyncDisposableStack();
  const dataFolder = join(folder, "resumable");
  const { port } = await startParley(stack, dataFolder);
  const [person] = await addPeople(port, dataFolder, ["somebody"]);
  const place = { url: `http://127.0.0.1:${port}`, headers: person!.headers, folder };
  return {
    resumable1m: await timesAtOnce(place, MIB, MIB),
    resumable8m: await timesAtOnce(place, 8 * MIB, 8 * MIB),
    resumable64m: await timesAtOnce(place, 64 * MIB, 8 * MIB),
  };
}

async function timesAtOnce(place: Place, fileBytes: number, partBytes: number): Promise<number> {
  const { url, headers, folder } = place;
  const whole = new Uint8Array(form(fileBytes));
  const parts = Array.from({ length: fileBytes / partBytes }, () => new Uint8Array(randomBytes(partBytes)));
  const ways = {
    atOnce: () => ask(`${url}/v1/attachments`, "POST", { ...headers, ...FORM_TYPE }, whole, 201),
    inParts: () => sendParts(place, parts),
  };
  const taken = { atOnce: [] as number[], inParts: [] as number[] };
  for (let round = -1; round < ROUNDS; round++) {
    for (const way of ["atOnce", "inParts"] as const) {
      const ids: string[] = [];
      const begun = performance.now();
      while (ids.length < ROUND_BYTES / fileBytes) ids.push(await idOf(await ways[way]()));
      if (round >= 0) taken[way].push(performance.now() - begun);
      for (const id of ids) await ask(`${url}/v1/attachments/${id}`, "DELETE", headers, null, 204);
      settle(folder);
    }
  }
  return median(taken.atOnce) / median(taken.inParts);
}

/** By the draft of the IETF, of which the last answer is the attachment. */
async function sendParts(
  { url, headers }: Place,
  parts: readonly Uint8Array<ArrayBuffer>[],
): Promise<Response> {
  const partBytes = parts[0]!.length;
  const started = await ask(
    `${url}/v1/uploads?filename=photo.bin`,
    "POST",
    { ...headers, "upload-complete": "?0", "upload-length": String(parts.length * partBytes) },
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
        "upload-offset": String(i * partBytes),
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
