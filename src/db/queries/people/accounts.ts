import { type Statement, sql } from "../../sql.ts";
import { batch, get, run, type Write, write } from "../../write.ts";
import { type NewEntry, recordEntry } from "../record/audit-trail.ts";
import { addIdentity, type Identity, removeIdentities } from "./identities.ts";
import { type UpdateUser, updateUser } from "./profiles.ts";
import { NOTE_REVOCATION } from "./tokens.ts";

interface UpdateAccount extends UpdateUser {
  /** Null removes all identities; undefined leaves them unchanged. */
  identity: Identity | null | undefined;
  linkEntry: NewEntry;
  /** Undefined leaves it unchanged. */
  isPaused: boolean | undefined;
  pauseEntry: NewEntry;
}

/**
 * Changes the profile, the identities, and whether the user is paused. Throws what `updateUser` throws, `identity_taken` and
 * `count_limit_reached`.
 */
const updateAccount = write(
  { publishesEvents: true, revokesTokens: true },
  function* ({ identity, linkEntry, isPaused, pauseEntry, ...update }: UpdateAccount): Write<void> {
    yield* updateUser(update);
    const isLinked = identity === undefined ? false : yield* changeIdentities(update.id, identity, linkEntry);
    const isToggled = isPaused === undefined ? false : yield* pauseUser(update.id, isPaused, pauseEntry);
    if (isLinked || isToggled)
      yield* run(sql`UPDATE users SET version = version + 1 WHERE id = ${update.id}`);
  },
);

function changeIdentities(userId: string, identity: Identity | null, entry: NewEntry): Write<boolean> {
  return identity ? addIdentity(userId, identity, entry) : removeIdentities(userId, entry);
}

/** Part of other writes: pauses or resumes the user, and reports whether that is a change. */
function* pauseUser(userId: string, isPaused: boolean, entry: NewEntry): Write<boolean> {
  const changed = yield* get(
    sql`UPDATE users SET paused_at = ${isPaused ? entry.at : null}
      WHERE id = ${userId} AND paused_at IS ${isPaused ? sql`NULL` : sql`NOT NULL`} RETURNING id`,
  );
  if (!changed) return false;
  yield* batch([
    NOTE_REVOCATION,
    recordEntry(entry, isPaused ? "user.paused" : "user.resumed", userId),
    ...(isPaused ? [] : [forgetFailures(userId)]),
  ]);
  return true;
}

/** Nothing was sent to the receivers during the pause, so its time does not count as failing. */
function forgetFailures(userId: string): Statement {
  return sql`UPDATE webhooks SET failing_since = NULL WHERE user_id = ${userId} AND failing_since IS NOT NULL`;
}

export const accountWrites = { updateAccount };
