import { get, type Reader, run, type Write } from "./sql.ts";
import { type CreateUser, createUser } from "./users.ts";

const FIND = "SELECT user_id FROM identities WHERE issuer = ? AND subject = ?";

/** The id of the user. */
export async function findIdentity(db: Reader, issuer: string, subject: string): Promise<string | undefined> {
  return (await db.get<{ user_id: string }>(FIND, issuer, subject))?.user_id;
}

/** The id of the user, who is made where nobody was faster. Throws `username_taken`. */
export function* createIdentity(input: { issuer: string; subject: string; user: CreateUser }): Write<string> {
  const { issuer, subject, user } = input;
  const known = yield* get<{ user_id: string }>(FIND, issuer, subject);
  if (known) return known.user_id;
  yield* createUser(user);
  yield* run("INSERT INTO identities (issuer, subject, user_id) VALUES (?, ?, ?)", issuer, subject, user.id);
  return user.id;
}
