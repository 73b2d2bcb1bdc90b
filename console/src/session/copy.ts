// The local copy of the user's data in this browser: what the console shows, and what is still to be sent.
import { useLayoutEffect } from "preact/hooks";
import { type Me, type Parley, ParleyApiError } from "../../../packages/parley-client/src/index.ts";
import {
  memoryStore,
  type Operation,
  openSync,
  type Reason,
  type SendOperation,
  type Sync,
  type View,
} from "../../../packages/parley-sync/src/index.ts";
import { indexedDbStore } from "../../../packages/parley-sync/src/indexeddb.ts";
import { useRedraw } from "../ui/use-redraw.ts";
import { keptAccess } from "./kept-session.ts";
import { type Access, connect, HERE } from "./session.ts";

/** Each user has a database. Another Parley may run at another path of this host. */
const PREFIX = `parley ${new URL(HERE).pathname} `;

/** The user of a token, with their local copy. */
export interface SignedInUser {
  access: Access;
  parley: Parley;
  sync: Sync;
  me: Me;
}

/** Reads the user of a token and opens their local copy. */
export async function signIn(access: Access): Promise<SignedInUser> {
  const parley = connect(access);
  const me = await parley.me();
  return { access, parley, me, sync: await openCopy(parley, me, typeof access === "object") };
}

/** Opens the copy of a user. `isKept`: whether it outlives this tab. */
async function openCopy(client: Parley, me: Me, isKept: boolean): Promise<Sync> {
  const name = PREFIX + me.id;
  if (isKept) await eraseCopies(name);
  else await eraseLeft();
  // Some browsers store nothing in private windows.
  const store = isKept ? await indexedDbStore(name).catch(memoryStore) : memoryStore();
  return openSync({ client, store, include: "unscanned,image" });
}

/** Deletes the copies of sessions that ended, unless the browser has a session, whose copy other tabs use. */
export async function eraseLeft(): Promise<void> {
  if (!keptAccess()) await eraseCopies();
}

/** Deletes all copies, or all but one. */
export async function eraseCopies(but?: string): Promise<void> {
  const all = (await indexedDB.databases?.().catch(() => [])) ?? [];
  const names = all.flatMap(({ name = "" }) => (name.startsWith(PREFIX) && name !== but ? name : []));
  await Promise.all(names.map(deleteDatabase));
}

function deleteDatabase(name: string): Promise<unknown> {
  return new Promise((resolve) => {
    const request = indexedDB.deleteDatabase(name);
    // One that is blocked is deleted once its tab is closed.
    Object.assign(request, { onsuccess: resolve, onerror: resolve, onblocked: resolve });
  });
}

/** Returns what a view shows, and renders again when that changes. */
export function useView<T>({ subscribe, getSnapshot }: View<T>): T {
  const redraw = useRedraw();
  const shown = getSnapshot();
  useLayoutEffect(() => {
    // It may have changed since the render.
    if (getSnapshot() !== shown) redraw();
    return subscribe(redraw);
  }, [subscribe]);
  return shown;
}

/** Returns the messages that are not sent, also failed ones. */
export function listUnsent(operations: readonly Operation[]): SendOperation[] {
  return operations.filter((each) => each.kind === "send");
}

/** Returns the error of a reason, or one that comes from another tab, where errors lose their class. */
export function toError(reason: Reason | unknown): unknown {
  const { code, detail, param } = (reason ?? {}) as Partial<Reason>;
  if (reason instanceof ParleyApiError || code === undefined) return reason;
  if (code === "unexpected") return new Error(detail);
  const isRefused = code === "invalid_token" || code === "missing_token";
  const isAway = code === "connection_failed" || code === "timeout" || code === "unexpected_answer";
  const status = isAway ? 0 : isRefused ? 401 : 400;
  return new ParleyApiError({ code: code as ParleyApiError["code"], status, detail: detail ?? "", param });
}
