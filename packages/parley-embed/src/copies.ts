// The local copies of the elements on a page. Elements with the same server and user share one.
import { Parley } from "parley-client";
import { memoryStore, openSync, type Sync } from "parley-sync";
import { indexedDbStore } from "parley-sync/indexeddb";

export type TokenSource = () => string | Promise<string>;

interface Copy {
  sync: Promise<Sync>;
  /** That of the element that was last to set one, among those that use the copy. */
  getToken: TokenSource;
  /** The elements that use the copy: what is called when the user signs out, and how each gets a token. */
  users: Map<() => void, TokenSource>;
  /** Tells other tabs of a sign-out. */
  channel: BroadcastChannel;
}

const copies = new Map<string, Copy>();

/** A copy as an element uses it. */
export interface SharedCopy {
  sync: Sync;
  server: string;
  /** Ends the use by this element. The last one closes the copy. */
  release(): void;
  /** Erases the copy in all tabs. */
  signOut(): Promise<void>;
}

/** Opens the copy of a user. `onEnd` is called when the user signs out in any element, also of another tab. */
export async function shareCopy(
  server: string,
  getToken: TokenSource,
  onEnd: () => void,
): Promise<SharedCopy> {
  const token = await getToken();
  if (!token) throw Object.assign(new Error("There is no token yet."), { code: "missing_token" });
  const name = `parley-embed ${server} ${await toIdentity(token)}`;
  const copy = copies.get(name) ?? open(server, name, getToken);
  copy.getToken = getToken;
  copy.users.set(onEnd, getToken);
  const release = () => {
    copy.users.delete(onEnd);
    copy.getToken = [...copy.users.values()].at(-1) ?? copy.getToken;
    // Another element may be about to use it.
    setTimeout(() => {
      if (copy.users.size > 0 || copies.get(name) !== copy) return;
      forget(name, copy);
      copy.sync.then((sync) => sync.close()).catch(() => {});
    });
  };
  const sync = await copy.sync.catch((error) => {
    release();
    throw error;
  });
  const signOut = async () => {
    copy.channel.postMessage("signed out");
    end(name, copy);
    await sync.signOut();
  };
  return { sync, server, release, signOut };
}

function open(server: string, name: string, getToken: TokenSource): Copy {
  const sync = openCopy(server, name, () => copy.getToken());
  const copy: Copy = { sync, getToken, users: new Map(), channel: new BroadcastChannel(name) };
  // The copy of this tab closes, too.
  copy.channel.onmessage = () => end(name, copy);
  copies.set(name, copy);
  return copy;
}

function end(name: string, copy: Copy): void {
  forget(name, copy);
  for (const onEnd of [...copy.users.keys()]) onEnd();
}

function forget(name: string, { channel }: Copy): void {
  copies.delete(name);
  channel.close();
}

async function openCopy(server: string, name: string, token: TokenSource): Promise<Sync> {
  const client = new Parley({ url: server, token });
  // Without HTTPS the names of copies can't be computed, and some browsers store nothing in private windows.
  const store = isSecureContext ? await indexedDbStore(name).catch(memoryStore) : memoryStore();
  return openSync({ client, store, include: "image" });
}

/** Returns what stays the same while the tokens of a user are renewed: the subject of a JWT; of other tokens a digest. */
async function toIdentity(token: string): Promise<string> {
  try {
    const [, payload = ""] = token.split(".");
    const { iss = "", sub } = JSON.parse(atob(payload.replaceAll("-", "+").replaceAll("_", "/")));
    if (typeof sub === "string") return `${iss} ${sub}`;
  } catch {
    // It is no JWT.
  }
  if (!isSecureContext) return token;
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
