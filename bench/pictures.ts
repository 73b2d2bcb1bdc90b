// Previews of pictures of 12 megapixels, and what other requests notice of them.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import sharp from "sharp";
import { closedLoop, median, openLoop, percentile, type Requests } from "./load.ts";
import { addPeople, type Headers } from "./people.ts";
import { CONNECTIONS, FORM_TYPE, get } from "./requests.ts";
import { memory, type ParleyServer, startParley } from "./servers.ts";
import { settle } from "./subject.ts";

const MB = 1_000_000;
const WIDTH = 4000;
const HEIGHT = 3000;
/** More than the cache has room for, so that each preview is made anew when its turn comes again. */
const PICTURES = 60;
const CACHE = { PARLEY_PREVIEW_CACHE_SIZE: "1MiB" };
const READS_PER_SECOND = 500;
const ROUNDS = 5;
const ROUND_MS = 4000;

/** Milliseconds, megabytes and a ratio. */
export async function picturePreviews(folder: string): Promise<Record<string, number>> {
  await using stack = new AsyncDisposableStack();
  const dataFolder = join(folder, "pictures");
  const settings = { PARLEY_PREVIEWS: join(folder, "previews"), ...CACHE };
  const parley = await startParley(stack, dataFolder, { settings });
  const [person] = await addPeople(parley.port, dataFolder, ["somebody"]);
  const { headers } = person!;
  const picture = await takePicture();
  const links: string[] = [];
  while (links.length < PICTURES) links.push(await give(parley, headers, picture));
  settle(folder);
  let asked = 0;
  const previews = requestsOf(parley, 1, () => get(`${links[asked++ % PICTURES]}&width=640`, {}));
  const reads = requestsOf(parley, CONNECTIONS, () => get("/v1/me", headers));
  const taken = {
    alone: [] as number[],
    beside: [] as number[],
    times: [] as number[],
    peaks: [] as number[],
  };
  for (let round = -1; round < ROUNDS; round++) {
    const alone = await openLoop(reads, READS_PER_SECOND, ROUND_MS);
    const { latencies } = await closedLoop(previews, ROUND_MS);
    const [beside] = await Promise.all([
      openLoop(reads, READS_PER_SECOND, ROUND_MS),
      closedLoop(previews, ROUND_MS),
    ]);
    if (round < 0) continue;
    taken.alone.push(percentile(alone, 99));
    taken.beside.push(percentile(beside, 99));
    taken.times.push(percentile(latencies, 50));
    taken.peaks.push(Math.max(...childrenOf(parley.pid).map((pid) => memory(pid).peak)));
  }
  console.log(`  ${asked} previews of ${(picture.length / MB).toFixed(1)} MB each`);
  const picturesAlone = median(taken.alone);
  return {
    picture: median(taken.times),
    pictureMemory: Math.max(...taken.peaks) / MB,
    picturesAlone,
    picturesTimes: median(taken.beside) / picturesAlone,
  };
}

/** With as much detail in it as a photograph has, so that neither it nor its preview is small. */
async function takePicture(): Promise<Buffer> {
  const noise = { type: "gaussian", mean: 128, sigma: 40 } as const;
  const create = { width: 800, height: 600, channels: 3, background: "white", noise } as const;
  const details = await sharp({ create }).png().toBuffer();
  return sharp(details).resize(WIDTH, HEIGHT).jpeg({ quality: 90 }).toBuffer();
}

/** Uploads a picture and returns the path of its link. */
async function give({ port }: ParleyServer, headers: Headers, picture: Buffer): Promise<string> {
  const disposition = 'content-disposition: form-data; name="file"; filename="photo.jpg"';
  const body = Buffer.concat([
    Buffer.from(`--b\r\n${disposition}\r\ncontent-type: image/jpeg\r\n\r\n`),
    picture,
    Buffer.from("\r\n--b--\r\n"),
  ]);
  const answer = await fetch(`http://127.0.0.1:${port}/v1/attachments`, {
    method: "POST",
    headers: { ...headers, ...FORM_TYPE },
    body: new Uint8Array(body),
  });
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  const { file_url } = (await answer.json()) as { file_url: string };
  const { pathname, search } = new URL(file_url);
  return pathname + search;
}

function requestsOf(server: ParleyServer, connections: number, next: Requests["next"]): Requests {
  return { servers: [server], connections, status: 200, next };
}

/** The process that makes previews is the one child of the server. */
function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").split(" ").filter(Boolean).map(Number),
  );
}
