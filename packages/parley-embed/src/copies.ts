// The local copies of the elements on a page. Elements with the same server and user share one.
import { Parley } from "parley-client";
import { memoryStore, openSync, type Sync } from "parley-sync";
import { indexedDbStore } from "parley-sync/indexeddb";

export type TokenSource = () => string | Promise<string>;

interface Copy {
  sync: Promise<Sync>;
  /** That of the element that was last to set one. */
  getToken: TokenSource;
  /** Called when the user signs out; one for each element. */
  users: Set<() => void>;
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

/** Opens the copy of a user. `onEnd` is called when the user signs out in any element of the page. */
export async function shareCopy(
  server: string,
  getToken: TokenSource,
  onEnd: () => void,
): Promise<SharedCopy> {
  const name = `parley-embed ${server} ${await toIdentity(await getToken())}`;
  const copy = copies.get(name) ?? open(server, name, getToken);
  copy.getToken = getToken;
  copy.users.add(onEnd);
  const release = () => {
    copy.users.delete(onEnd);
    // An element that moves is removed and added again.
    setTimeout(() => {
      if (copy.users.size > 0 || copies.get(name) !== copy) return;
      copies.delete(name);
      void copy.sync.then((sync) => sync.close());
    });
  };
  const sync = await copy.sync.catch((error) => {
    release();
    throw error;
  });
  const signOut = async () => {
    copies.delete(name);
    for (const end of [...copy.users]) end();
    await sync.signOut();
  };
  return { sync, server, release, signOut };
}

function open(server: string, name: string, getToken: TokenSource): Copy {
  const copy: Copy = { sync: openCopy(server, name, () => copy.getToken()), getToken, users: new Set() };
  copies.set(name, copy);
  return copy;
}

async function openCopy(server: string, name: string, token: TokenSource): Promise<Sync> {
  const client = new Parley({ url: server, token });
  // Without HTTPS the names of copies can't be computed, and some browsers store nothing in private windows.
  const store = isSecureContext ? await indexedDbStore(name).catch(memoryStore) : memoryStore();
  return openSync({ client, store });
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
