// The session of this browser, shared by all its tabs. The browser holds a cookie that no page can read; this page
// holds the key to it, which no other server and no page of another origin can read. Neither works alone.
import { randomKey } from "../../../packages/parley-client/src/index.ts";
import { type Access, connect, HERE } from "./session.ts";
import { browserStore } from "./storage.ts";

export interface KeptAccess {
  session: string;
}

/** Another Parley may run at another path of this host. */
const KEY = `parley-session ${new URL(HERE).pathname}`;
const channel = new BroadcastChannel(KEY);

export function keptAccess(): KeptAccess | undefined {
  const session = browserStore.get(KEY);
  return session === null ? undefined : { session };
}

/** Starts a session that other tabs join. If the browser stores nothing, returns the token, for this tab only. */
export async function keepAccess(token: string): Promise<Access> {
  const session = randomKey() + randomKey();
  try {
    await ask("POST", session, { authorization: `Bearer ${token}` });
    await connect({ session }).me();
    return keep({ session }) ? { session } : token;
  } catch {
    return token;
  }
}

/** Makes this browser use a session, in all tabs. Returns false if the browser stores nothing. */
export function keep(access: KeptAccess): boolean {
  if (!browserStore.set(KEY, access.session)) return false;
  notifyTabs(access);
  return true;
}

/** Extends the session. */
export function renewSession({ session }: KeptAccess): void {
  ask("POST", session).catch(() => {});
}

/**
 * Ends the session, even if the server does not answer: without the key the cookie is useless. The cookie is deleted
 * after `before`.
 */
export function endSession({ session }: KeptAccess, before = Promise.resolve()): void {
  if (browserStore.get(KEY) === session) browserStore.remove(KEY);
  const remove = () => ask("DELETE", session);
  before.then(remove, remove).catch(() => {});
}

/**
 * Makes other tabs sign in or out like this one. The message contains the key, because the change of `localStorage`
 * may reach other tabs later.
 */
export function notifyTabs(access: KeptAccess | undefined): void {
  channel.postMessage(access);
}

/** Calls the listener when another tab may have signed in or out. */
export function followTabs(listener: (access: KeptAccess | undefined) => void): () => void {
  const onMessage = ({ data }: MessageEvent<KeptAccess | undefined>) => listener(data);
  // A page restored from the history has missed messages.
  const onShow = ({ persisted }: PageTransitionEvent) => persisted && listener(keptAccess());
  channel.addEventListener("message", onMessage);
  addEventListener("pageshow", onShow);
  return () => {
    channel.removeEventListener("message", onMessage);
    removeEventListener("pageshow", onShow);
  };
}

function ask(method: string, session: string, headers: Record<string, string> = {}): Promise<Response> {
  // The tab may close right after the sign-out.
  const keepalive = true;
  return fetch(`${HERE}/session`, { method, headers: { ...headers, "parley-session": session }, keepalive });
}
