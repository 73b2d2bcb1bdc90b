// Parley with its data, and the yardstick beside it, as they are measured.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Answer } from "./bare.ts";
import { MIB } from "./requests.ts";
import { filesToErase, fillContacts, largeAttachments } from "./rows.ts";
import {
  type BareServer,
  PARLEY,
  type ParleyServer,
  parley as runParley,
  startBare,
  startParley,
} from "./servers.ts";

export const FEW = 1000;
export const MANY = 1_000_000;

/** A user, its headers, and the number of its first contact. */
interface User {
  headers: Record<string, string>;
  first: number;
}

/** `few` and `writer` have `FEW` contacts, `many` has `MANY`. */
type UserName = "few" | "writer" | "many";

export type Users = Record<UserName, User>;

export interface Subject {
  folder: string;
  dataFolder: string;
  parley: ParleyServer;
  bare: BareServer;
  users: Users;
}

const dataFolderIn = (folder: string) => join(folder, "data");

/** Fills the data folder of a subject. `command`: of the Parley that is measured. */
export async function fillSubject(folder: string, command: string = PARLEY): Promise<Users> {
  await using stack = new AsyncDisposableStack();
  const dataFolder = dataFolderIn(folder);
  await startParley(stack, dataFolder, { command });
  let filled = 0;
  const addUser = (name: UserName, contacts: number): User => {
    const first = filled;
    filled += contacts;
    return { headers: addFilledUser(dataFolder, name, first, contacts, command), first };
  };
  return { few: addUser("few", FEW), writer: addUser("writer", FEW), many: addUser("many", MANY) };
}

/** Starts what is measured on a folder that was filled. */
export async function startSubject(
  stack: AsyncDisposableStack,
  folder: string,
  users: Users,
  command: string = PARLEY,
): Promise<Subject> {
  const dataFolder = dataFolderIn(folder);
  const parley = await startParley(stack, dataFolder, { delay: true, command });
  const bare = await startBare(stack, join(folder, "bare"));
  return { folder, dataFolder, parley, bare, users };
}

/** Adds a user with contacts and returns the headers of its requests. */
export function addFilledUser(
  dataFolder: string,
  name: string,
  first: number,
  contacts: number,
  command: string,
): Record<string, string> {
  const run = (...args: string[]) => runParley(dataFolder, args, {}, command);
  const user = JSON.parse(run("user", "add", name, "--json")) as { id: string };
  const token = run("token", "create", name).trim();
  fillContacts(dataFolder, user.id, first, contacts);
  return { authorization: `Bearer ${token}` };
}

/** Parley and the yardstick. */
type Pair = Pick<Subject, "parley" | "bare">;

async function request(subject: Pair, path: string, init: RequestInit): Promise<Response> {
  const response = await fetch(`http://127.0.0.1:${subject.parley.port}${path}`, init);
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response;
}

/** Makes the yardstick answer to a path as Parley answers this request. Returns what Parley answered. */
export async function replay(
  subject: Pair,
  at: string,
  path: string,
  init: RequestInit,
  upload?: Answer["upload"],
): Promise<string> {
  const response = await request(subject, path, init);
  const body = await response.text();
  const answer = { status: response.status, headers: headersOf(response), body };
  await subject.bare.set(at, upload === undefined ? answer : { ...answer, upload });
  return body;
}

/** Makes the yardstick send a file as Parley sends this one. */
export async function replayFile(subject: Subject, at: string, path: string): Promise<void> {
  const response = await request(subject, path, {});
  const file = join(subject.folder, at.slice(1));
  writeFileSync(file, await response.bytes());
  await subject.bare.set(at, { status: 200, headers: headersOf(response), body: "", file });
}

function headersOf(response: Response): Record<string, string> {
  const own = ["date", "connection", "keep-alive"];
  return Object.fromEntries([...response.headers].filter(([name]) => !own.includes(name)));
}

/** Deletes what was uploaded, but for small files of Parley, so that the disk does not fill up. */
export async function clearUploads(subject: Subject, kept: string): Promise<void> {
  await subject.bare.clear();
  for (const id of largeAttachments(subject.dataFolder, MIB)) {
    if (id === kept) continue;
    await request(subject, `/v1/attachments/${id}`, {
      method: "DELETE",
      headers: subject.users.writer.headers,
    });
  }
  while (filesToErase(subject.dataFolder) > 0) await sleep(20);
}

/** Writes out what one round left in the caches, so that the next does not pay for it. */
export function settle(folder: string): void {
  execFileSync("sync", ["-f", folder]);
}
