import { Parley } from "parley-client";
import { openSync, type Sync } from "parley-sync";
import { AppState } from "react-native";
import { type Database, openStore } from "./store.ts";

/** Opens the local copy, which connects again as soon as the app is in the foreground. */
export async function open(url: string, token: string, database: Database): Promise<Sync> {
  const sync = await openSync({ client: new Parley({ url, token }), store: await openStore(database) });
  AppState.addEventListener("change", (state) => state === "active" && sync.wake());
  return sync;
}
