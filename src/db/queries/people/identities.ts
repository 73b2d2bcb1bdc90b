import { type Reader, type Statement, sql } from "../../sql.ts";
import { get, run, type Write } from "../../write.ts";
import { type CreateUser, createUser } from "./users.ts";

function find(issuer: string, subject: string): Statement<{ user_id: string }> {
  return sql`SELECT user_id FROM identities WHERE issuer = ${issuer} AND subject = ${subject}`;
}

/** Finds the id of the user. */
export async function findIdentity(db: Reader, issuer: string, subject: string): Promise<string | undefined> {
  return (await db.get(find(issuer, subject)))?.user_id;
}

/** Creates the user, unless another request was faster, and returns the id. Throws `username_taken`. */
function* createIdentity(input: { issuer: string; subject: string; user: CreateUser }): Write<string> {
  const { issuer, subject, user } = input;
  const known = yield* get(find(issuer, subject));
  if (known) return known.user_id;
  yield* createUser(user);
  yield* run(
    sql`INSERT INTO identities (issuer, subject, user_id) VALUES (${issuer}, ${subject}, ${user.id})`,
  );
  return user.id;
}

export const identityWrites = { createIdentity };
