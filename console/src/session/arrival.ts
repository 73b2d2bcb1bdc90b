// Sign-ins that begin elsewhere: at an identity provider, or with a link of the command line. The browser arrives with
// the result in the page's address, which is removed at once, so that neither the history nor a copied address has it.
import { randomKey } from "../../../packages/parley-client/src/index.ts";
import { PAUSED } from "../failures.ts";
import { findLinkCode } from "../place.ts";
import { type KeptAccess, keep, keptAccess } from "./kept-session.ts";
import { HERE } from "./session.ts";
import { tabStore } from "./storage.ts";

/** Where the tab keeps the key of the session that begins at the provider. */
const KEY = "parley-signing-in";

/** A sign-in that begins elsewhere. Both functions reject with an error whose message is for the user. */
export interface Arrival {
  /** Finds the user of a link. It may come from somebody else, so the page asks before it signs in. */
  findUsername?: () => Promise<string>;
  finish: () => Promise<KeptAccess>;
}

/** Returns the sign-in that the page's address finishes; undefined if it finishes none. */
export function takeArrival(): Arrival | undefined {
  const { search, pathname } = location;
  const query = new URLSearchParams(search);
  const code = findLinkCode();
  const isAnswer = query.has("state") && (query.has("code") || query.has("error"));
  if (!isAnswer && code === null) return undefined;
  history.replaceState(null, "", pathname);
  // A link from somebody else must not replace the user without a word.
  if (code !== null && keptAccess()) return undefined;
  if (code !== null) {
    const key = randomKey() + randomKey();
    return { findUsername: () => findUsername(key, code), finish: () => finish(key, { code }) };
  }
  const key = tabStore.get(KEY);
  tabStore.remove(KEY);
  // This tab has begun no sign-in.
  if (key === null && keptAccess()) return undefined;
  return { finish: () => finish(key ?? "", { answer: search.slice(1) }) };
}

/** Returns the issuer of the identity provider; null if the server offers none. */
export async function findProvider(): Promise<string | null> {
  const response = await fetch(`${HERE}/sign-in`);
  return response.ok ? (await response.json()).issuer : null;
}

/** Leaves for the page of the identity provider. Rejects with an error for the user. */
export async function leaveForProvider(): Promise<void> {
  const key = randomKey() + randomKey();
  if (!tabStore.set(KEY, key)) throw new Error(NO_STORAGE);
  const response = await ask("sign-in", key);
  location.assign((await response.json()).url);
}

async function findUsername(key: string, code: string): Promise<string> {
  const response = await ask("sign-in", key, new URLSearchParams({ code }));
  return (await response.json()).username;
}

async function finish(key: string, fields: Record<string, string>): Promise<KeptAccess> {
  await ask("session", key, new URLSearchParams(fields));
  const access = { session: key };
  if (!keep(access)) throw new Error(NO_STORAGE);
  return access;
}

async function ask(path: string, key: string, body: URLSearchParams | null = null): Promise<Response> {
  const response = await fetch(`${HERE}/${path}`, {
    method: "POST",
    headers: { "parley-session": key },
    body,
  }).catch(() => {
    throw new Error("The server cannot be reached. Check your network.");
  });
  if (response.ok) return response;
  const { code, param } = await response.json().catch(() => ({}));
  if (param === "preferred_username") throw new Error(NO_USERNAME);
  throw new Error(FAILURES[code] ?? "The server failed. Try again, or ask your administrator.");
}

const NO_STORAGE = "This browser stores nothing for this page. Allow it, or use a token.";
const NO_USERNAME =
  "The identity provider gives you no username that Parley accepts. Ask your administrator to set the claim preferred_username to 1 to 128 characters.";
const EXPIRED = "This sign-in was refused or has expired. Sign in again.";
/** By the code of the error. */
const FAILURES: Readonly<Record<string, string>> = {
  invalid_parameter: EXPIRED,
  invalid_token: EXPIRED,
  username_taken: "Another user already has your username. Ask your administrator.",
  count_limit_reached: "You are signed in too often. Try again tomorrow, or ask your administrator.",
  user_paused: PAUSED,
  rate_limited: "There were too many attempts. Wait a minute, then sign in again.",
  unavailable: "The identity provider does not answer. Try again in a minute.",
};
