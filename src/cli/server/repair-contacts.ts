import { readConfig } from "../../config/settings.ts";
import { lostContacts } from "../../db/queries/upkeep/contact-repair.ts";
import type { Io } from "../io.ts";
import { counted } from "../text.ts";
import { withDataAccess } from "./data.ts";

/** Restores the missing conversations of contacts, also while a server runs. */
export async function repairContacts(io: Io, options: { json?: boolean }): Promise<void> {
  const repaired = await withDataAccess(readConfig(io.env), async ({ db }) => {
    let count = 0;
    for (const contact of await db.all(lostContacts())) {
      if (await db.write("repairContact", contact)) count++;
    }
    return count;
  });
  if (options.json) io.print(JSON.stringify({ kind: "summary", repaired: "contacts", contacts: repaired }));
  else io.print(`Repaired ${counted(repaired, "contact")}.`);
}
