import { storageUsed } from "../db/storage.ts";
import { findUserById } from "../db/users.ts";
import { ParleyError } from "../errors.ts";
import { toSeconds } from "../util/clock.ts";
import type { Caller } from "./caller.ts";
import type { Core } from "./core.ts";

/** The caller, as only the caller sees it. */
interface Me {
  id: string;
  username: string;
  phone_number: string | null;
  display_name: string | null;
  avatar_url: string | null;
  /** The conversation of notes to self, where uploads go that name no other. */
  conversation_id: string;
  created_at: number;
  /** Bytes; the quota is null where there is none. */
  storage: { used: number; quota: number | null };
}

export async function getMe(core: Core, caller: Caller): Promise<Me> {
  const user = await findUserById(core.db, caller.userId);
  // Erased between the check of the token and now.
  if (!user) throw new ParleyError("invalid_token");
  return {
    id: user.id,
    username: user.username,
    phone_number: user.phone_number,
    display_name: user.display_name,
    avatar_url: user.avatar_url,
    conversation_id: user.conversation_id,
    created_at: toSeconds(user.created_at),
    storage: { used: await storageUsed(core.db, user.id), quota: core.limits.userQuotaBytes || null },
  };
}
