// Previews of one user's expensive pictures, all at once, and how long another user's small preview takes meanwhile.
import assert from "node:assert/strict";
import { blackPng } from "../support/picture-bytes.ts";
import { isLong } from "../support/scale.ts";
import type { Resource, Target } from "./target.ts";
import { isBearable, p99 } from "./waits.ts";

/** Just below the limit of 100 million pixels. Each picture is decoded in seven passes. */
const DEAR_SIDE = 9990;
const SMALL_SIDE = 300;
const WIDTHS = [320, 640, 1280];

type User = Record<"authorization", string>;

let users = 0;

async function json<T>(target: Target, user: User, path: string, body?: object): Promise<T> {
  const headers = { ...user, "content-type": "application/json" };
  const how = body ? { method: "POST", body: JSON.stringify(body) } : {};
  const answer = await fetch(target.url + path, { ...how, headers });
  const text = await answer.text();
  assert.ok(answer.ok, text);
  return JSON.parse(text) as T;
}

async function newUser(target: Target): Promise<User> {
  const username = `painter-${process.pid}-${++users}`;
  const { id } = await json<{ id: string }>(target, target.headers, "/v1/users", { username });
  const scopes = ["attachments:read", "attachments:write"];
  const { token } = await json<{ token: string }>(target, target.headers, "/v1/tokens", {
    user_id: id,
    scopes,
  });
  return { authorization: `Bearer ${token}` };
}

/** Uploads a picture this many times, and returns the paths of the files. */
async function give(target: Target, user: User, picture: Uint8Array<ArrayBuffer>, count: number) {
  const paths: string[] = [];
  while (paths.length < count) {
    const form = new FormData();
    form.set("file", new File([picture], "a.png"));
    const answer = await fetch(`${target.url}/v1/attachments`, { method: "POST", headers: user, body: form });
    assert.equal(answer.status, 201);
    paths.push(`/files/${((await answer.json()) as { id: string }).id}/a.png`);
  }
  return paths;
}

async function status(target: Target, user: User, path: string, width: number): Promise<number> {
  const answer = await fetch(`${target.url}${path}?width=${width}`, { headers: user });
  await answer.arrayBuffer();
  return answer.status;
}

/** Requests the previews of one width one after another, and returns the p99 in milliseconds. */
async function measure(target: Target, user: User, paths: readonly string[], width: number): Promise<number> {
  const times: number[] = [];
  for (const path of paths) {
    const begun = performance.now();
    assert.equal(await status(target, user, path, width), 200);
    times.push(performance.now() - begun);
  }
  return p99(times);
}

const dearPictures: Resource = async (target, scaled) => {
  const [attacker, other] = [await newUser(target), await newUser(target)];
  const [first, ...small] = await give(target, other, blackPng(SMALL_SIDE, SMALL_SIDE), scaled(6, 301));
  // Warms up: starts the process, and waits for the preview that every upload gets.
  await measure(target, other, small, 320);
  await measure(target, other, [first!], 640);
  const alone = await measure(target, other, small, 640);
  const dear = await give(target, attacker, blackPng(DEAR_SIDE, DEAR_SIDE, true), scaled(2, 34));
  // The server closes a connection that waits too long.
  const ask = (path: string, width: number) => status(target, attacker, path, width).catch(() => "cut");
  const asked = dear.flatMap((path) => WIDTHS.map((width) => ask(path, width)));
  // Neither width enlarges a small picture, so both take equally long.
  const beside = await measure(target, other, small, 1280);
  const ends: Record<string, number> = {};
  for (const end of await Promise.all(asked)) ends[end] = (ends[end] ?? 0) + 1;
  const { 200: made = 0, 503: refused = 0, cut = 0, ...others } = ends;
  assert.deepEqual(others, {});
  const said = `p99 of another's small preview: ${beside.toFixed(1)} ms, alone ${alone.toFixed(1)} ms`;
  target.say(`${said}, beside dear ones: ${made} made, ${refused} refused, ${cut} cut`);
  if (isLong) assert.ok(isBearable(beside, alone), said);
  return asked.length;
};

export const PICTURES: Record<string, Resource> = { "previews of dear pictures": dearPictures };
