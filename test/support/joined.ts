import type { TokenChoice } from "../../src/core/people/tokens.ts";
import type { TestUser } from "./app.ts";
import { asker } from "./asker.ts";

/**
 * A server in another process that several test files share. PARLEY_TEST_SERVER has its `url`, its `folder` and a
 * `token` with all scopes.
 */
export interface Joined {
  url: string;
  folder: string;
  /** Creates a user; `scopes` are those of the token. */
  user(choice?: Pick<TokenChoice, "scopes">): Promise<TestUser>;
}

/** Returns the shared server, or undefined if each test starts one. */
export function joinedServer(): Joined | undefined {
  const { PARLEY_TEST_SERVER: where } = process.env;
  return where === undefined ? undefined : join(where);
}

/** `where` is JSON in the form of PARLEY_TEST_SERVER. */
export function join(where: string): Joined {
  const { url, token, folder } = JSON.parse(where) as Record<string, string>;
  const admin = { id: "", token: token!, headers: { authorization: `Bearer ${token}` } };
  const ask = asker({ url: url! }, admin);
  return {
    url: url!,
    folder: folder!,
    async user({ scopes } = {}) {
      const username = `user-${process.pid}-${performance.now()}`;
      const made = await ask("POST", "/v1/users", { username });
      const { body } = await ask("POST", "/v1/tokens", {
        user_id: made.body.id,
        ...(scopes ? { scopes } : {}),
      });
      const given = String(body.token);
      return { id: String(made.body.id), token: given, headers: { authorization: `Bearer ${given}` } };
    },
  };
}
