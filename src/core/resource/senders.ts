import { findSenders } from "../../db/queries/people/users.ts";
import type { DataAccess } from "../node/core.ts";
import { id, object, text, textOrNull } from "./schema.ts";

/** A user as others see them. */
export const shownUser = object({
  id: id("usr"),
  username: text,
  display_name: textOrNull,
  avatar_url: textOrNull,
});

/** Returns the JSON texts of the users, by id, without those who were erased. */
export async function findShownUsers(core: DataAccess, ids: Iterable<string>): Promise<Map<string, string>> {
  const distinct = [...new Set(ids)];
  if (distinct.length === 0) return new Map();
  const users = await findSenders(core.db, distinct);
  return new Map(users.map((user) => [user.id, JSON.stringify(user)]));
}
