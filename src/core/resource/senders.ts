import { findSenders, type SenderRow } from "../../db/queries/people/users.ts";
import type { QuickReader } from "../../db/sql.ts";
import type { DataAccess } from "../node/core.ts";
import { id, oneOf, resource, type TypeOf, text, textOrNull } from "./schema.ts";

export const userKind = oneOf("person", "bot");

/** A user as others see them. */
export const shownUserResource = resource("ShownUser", {
  id: id("usr"),
  username: text,
  display_name: textOrNull,
  avatar_url: textOrNull,
  kind: userKind,
});
export const shownUser = shownUserResource.schema;

/** The part of the core that makes addresses. */
export type Origin = Pick<DataAccess, "origin">;

/** Returns a user as others see them. */
export function toShownUser(core: Origin, row: SenderRow): TypeOf<typeof shownUser> {
  const { id, username, display_name, kind } = row;
  return { id, username, display_name, avatar_url: toAvatarUrl(core, row), kind };
}

/** Returns the address of a user's picture: of the one that is stored here, if there is one. */
export function toAvatarUrl(
  core: Origin,
  { id, avatar_id, avatar_url }: Pick<SenderRow, "id" | "avatar_id" | "avatar_url">,
): string | null {
  return avatar_id === null ? avatar_url : `${toPicturesUrl(core, id)}${avatar_id}`;
}

/** Returns the address of a user's stored pictures, to which the id of one is added. */
export function toPicturesUrl({ origin }: Origin, userId: string): string {
  return `${origin()}/v1/avatars/${userId}/`;
}

/** Parses the profile of a contact's peer, as `PEER_PROFILE` selects it. */
export function toPeer(
  core: Origin,
  profile: string | null,
): { name: string | null; avatarUrl: string | null } {
  if (profile === null) return { name: null, avatarUrl: null };
  const [id = "", avatar_id, avatar_url, ...name] = profile.split(" ");
  const avatar = { id, avatar_id: avatar_id || null, avatar_url: avatar_url || null };
  return { name: name.join(" ") || null, avatarUrl: toAvatarUrl(core, avatar) };
}

/** Returns the JSON texts of the users, by id, without those who were erased. */
export async function findShownUsers(
  core: DataAccess<QuickReader>,
  ids: Iterable<string>,
): Promise<Map<string, string>> {
  const distinct = [...new Set(ids)];
  if (distinct.length === 0) return new Map();
  const users = await findSenders(core.db, distinct);
  return new Map(users.map((user) => [user.id, JSON.stringify(toShownUser(core, user))]));
}
