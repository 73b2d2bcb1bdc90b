import { displayName, optional, pageFields, reference, toPageRequest } from "../core/fields.ts";
import { expiresAt, scopes } from "../core/token-fields.ts";
import { createToken, createTokenOnce, getToken, listTokenPages, revokeToken } from "../core/tokens.ts";
import { expectOnlyVersion, sendUnchanging, tellReplay } from "./conditions.ts";
import { knownForm, type Operation, operation } from "./operation.ts";
import { sendPage } from "./pages.ts";

const id = { kind: "tok", unknown: "token_not_found" } as const;

/** Access tokens, of which the answer to their making alone has the secret. */
export const tokenOperations: readonly Operation[] = [
  operation({
    name: "listTokens",
    method: "GET",
    path: "/v1/tokens",
    scope: "admin",
    summary: "List tokens",
    query: { ...pageFields("tok"), user_id: optional(reference("usr")) },
    body: {},
    answer: { status: 200, schema: "TokenPage" },
    errors: [],
    async handle({ core, query, request, reply }) {
      const page = toPageRequest(query);
      return sendPage(core, request, reply, page, await listTokenPages(core, page));
    },
  }),
  operation({
    name: "createToken",
    method: "POST",
    path: "/v1/tokens",
    scope: "admin",
    summary: "Create a token",
    query: {},
    body: {
      user_id: reference("usr"),
      scopes: optional(scopes),
      expires_at: optional(expiresAt),
      name: optional(displayName),
    },
    answer: { status: 201, schema: "NewToken" },
    errors: ["user_not_found", "count_limit_reached"],
    async handle({ core, caller, body, key, reply }) {
      const userId = knownForm(body.user_id, "usr", "user_not_found", "user_id");
      const { scopes, expires_at, name } = body;
      const expiresAt = expires_at && expires_at * 1000;
      const choice = { scopes, expiresAt, name };
      const { replayed, ...token } =
        key === undefined
          ? { ...(await createToken(core, caller, userId, choice)), replayed: false }
          : await createTokenOnce(core, caller, userId, choice, key);
      tellReplay(reply, replayed);
      reply.header("location", `${core.origin()}/v1/tokens/${token.id}`);
      return token;
    },
  }),
  operation({
    name: "retrieveToken",
    method: "GET",
    path: "/v1/tokens/:id",
    id,
    scope: "admin",
    summary: "Retrieve a token, without its secret",
    query: {},
    body: {},
    answer: { status: 200, schema: "Token" },
    errors: ["token_not_found", "precondition_failed"],
    handle: async ({ core, id, request, reply }) => sendUnchanging(request, reply, await getToken(core, id)),
  }),
  operation({
    name: "deleteToken",
    method: "DELETE",
    path: "/v1/tokens/:id",
    id,
    scope: "admin",
    summary: "Revoke a token at once",
    query: {},
    body: {},
    answer: { status: 204 },
    errors: ["token_not_found", "precondition_failed"],
    async handle({ core, caller, id, request }) {
      await getToken(core, id);
      expectOnlyVersion(request);
      await revokeToken(core, caller, id);
    },
  }),
];
