import { findUserById } from "../../db/queries/people/users.ts";
import { storageUsed } from "../../db/queries/storage/storage-used.ts";
import type { QuickReader } from "../../db/sql.ts";
import { ParleyError } from "../../errors.ts";
import { toSeconds } from "../../util/clock.ts";
import { countUnreadConversations } from "../messages/conversations.ts";
import { toMessageLimit } from "../messages/message-rate.ts";
import type { Caller } from "../node/caller.ts";
import type { Core } from "../node/core.ts";
import type { Parsed } from "../resource/fields.ts";
import { type Expected, readBack, type Versioned, versioned } from "../resource/resource.ts";
import {
  anyObject,
  bytes,
  count,
  described,
  id,
  integer,
  listOf,
  object,
  orNull,
  resource,
  type TypeOf,
  text,
  textOrNull,
  time,
} from "../resource/schema.ts";
import { toAvatarUrl, userKind } from "../resource/senders.ts";
import { type profileFields, updateProfile } from "./profiles.ts";
import { storageUse, toStorage } from "./users.ts";

/** The caller's own account. `limits` has those that a client can reach. */
export const meResource = resource("Me", {
  id: id("usr"),
  username: text,
  phone_number: textOrNull,
  display_name: textOrNull,
  avatar_url: textOrNull,
  kind: userKind,
  data: described(orNull(anyObject), "A JSON object for your app, which only you and admins see."),
  conversation_id: described(
    id("cnv"),
    "Notes to self: the conversation of uploads that name no other conversation.",
  ),
  created_at: time,
  token_id: described(orNull(id("tok")), "The token of the request; null for a JWT."),
  scopes: described(listOf(text), "What that token may do."),
  unread_conversations: described(count, "Without muted ones; 100 means 100 or more. 0 for a bot."),
  push_public_key: described(
    text,
    "The `applicationServerKey` of push subscriptions: a point on P-256 in base64url.",
  ),
  storage: storageUse,
  limits: object({
    max_file_size: described(orNull(integer), "Bytes; null if there is no limit."),
    max_files_per_day: described(
      orNull(integer),
      "Files that the user can upload per day (UTC); null if there is no limit.",
    ),
    allowed_file_types: described(
      orNull(listOf(text)),
      "Media types such as `image/png` or `image/*`; null if all are accepted.",
    ),
    refused_file_types: described(
      listOf(text),
      "Media types that are not accepted, also if they are allowed.",
    ),
    max_body_size: bytes,
    max_message_body_size: described(
      bytes,
      "Bytes of a request that sends or edits a message, without files.",
    ),
    rate_limit: described(
      orNull(integer),
      "Requests per second, with bursts of twice as many; null if there is no limit.",
    ),
    message_limit: described(orNull(integer), "Messages to others per minute; null if there is no limit."),
  }),
});
type Me = TypeOf<typeof meResource>;

/** Gets the caller's own account. Throws `invalid_token` if the user was deleted after the token was checked. */
export async function getMe(core: Core<QuickReader>, caller: Caller): Promise<Versioned> {
  const { limits } = core;
  const user = await findUserById(core.db, caller.userId);
  if (!user) throw new ParleyError("invalid_token");
  const me: Me = {
    id: user.id,
    username: user.username,
    phone_number: user.phone_number,
    display_name: user.display_name,
    avatar_url: toAvatarUrl(core, user),
    kind: user.kind,
    data: user.data === null ? null : JSON.parse(user.data),
    conversation_id: user.conversation_id,
    created_at: toSeconds(user.created_at),
    token_id: caller.tokenId,
    scopes: [...caller.scopes],
    unread_conversations: await countUnreadConversations(core, user),
    push_public_key: core.pushIdentity.publicKey,
    storage: toStorage(core, await storageUsed(core.db, user.id)),
    limits: {
      max_file_size: limits.maxFileBytes || null,
      max_files_per_day: limits.filesPerDay || null,
      allowed_file_types: limits.allowedTypes.length > 0 ? [...limits.allowedTypes] : null,
      refused_file_types: [...limits.refusedTypes],
      max_body_size: limits.maxBodyBytes,
      max_message_body_size: limits.maxMessageBodyBytes,
      rate_limit: limits.requestsPerSecond || null,
      message_limit: toMessageLimit(core, user) || null,
    },
  };
  return versioned(JSON.stringify(me), user.version);
}

/** Changes the caller's own profile. Throws `precondition_failed`, and what `getMe` throws. */
export async function updateMe(
  core: Core,
  caller: Caller,
  changes: Parsed<typeof profileFields>,
  expected: Expected,
): Promise<Versioned> {
  await updateProfile(core, caller, caller.userId, changes, expected);
  return readBack(getMe(core, caller));
}
