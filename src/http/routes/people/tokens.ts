import { expiresAt, scopes, secret } from "../../../core/people/token-fields.ts";
import {
  createToken,
  createTokenWithKey,
  getToken,
  getTokenBySecret,
  issuedTokenResource,
  listTokens,
  revokeToken,
  tokenResource,
} from "../../../core/people/tokens.ts";
import { displayName, optional, reference } from "../../../core/resource/fields.ts";
import { knownForm } from "../../../core/resource/known-form.ts";
import { pageFields } from "../../../core/resource/page.ts";
import { expectOnlyVersion, inFirstVersion, markReplay } from "../../protocol/conditions.ts";
import { type Operation, operation } from "../../protocol/operation.ts";
import { sendPage } from "../../protocol/pages.ts";

const id = { name: "token_id", kind: "tok", unknown: "token_not_found" } as const;

/** Declares the operations of access tokens. Only the answer that creates a token has its secret. */
export const tokenOperations: readonly Operation[] = [
  operation({
    name: "listTokens",
    method: "GET",
    path: "/v1/tokens",
    scope: "admin",
    summary: "List tokens",
    query: { ...pageFields("tok"), user_id: optional(reference("usr")) },
    answer: { status: 200, page: tokenResource },
    handle: (call) => sendPage(call, (page) => listTokens(call.core, page)),
  }),
  operation({
    name: "createToken",
    method: "POST",
    path: "/v1/tokens",
    scope: "admin",
    summary: "Create a token",
    body: {
      user_id: reference("usr"),
      scopes: optional(scopes),
      expires_at: optional(expiresAt),
      name: optional(displayName),
    },
    answer: { status: 201, resource: issuedTokenResource },
    errors: ["user_not_found", "count_limit_reached"],
    async handle({ core, caller, body, key, reply }) {
      const userId = knownForm(body.user_id, "usr", "user_not_found", "user_id");
      const { scopes, expires_at, name } = body;
      const expiresAt = expires_at && expires_at * 1000;
      const choice = { scopes, expiresAt, name };
      const { replayed, ...token } =
        key === undefined
          ? { ...(await createToken(core, caller, userId, choice)), replayed: false }
          : await createTokenWithKey(core, caller, userId, choice, key);
      if (replayed) markReplay(reply);
      return token;
    },
  }),
  operation({
    name: "findToken",
    method: "POST",
    path: "/v1/token_search",
    scope: "admin",
    storesNothing: true,
    summary: "Find a token by its secret",
    description: "For a leaked token. A POST, because the secret must not be in a URL.",
    body: { token: secret },
    answer: { status: 200, resource: tokenResource },
    errors: ["token_not_found"],
    handle: ({ core, body }) => getTokenBySecret(core, body.token),
  }),
  operation({
    name: "retrieveToken",
    method: "GET",
    path: "/v1/tokens/:id",
    id,
    scope: "admin",
    summary: "Retrieve a token, without its secret",
    answer: { status: 200, resource: tokenResource, versioned: true },
    errors: ["token_not_found", "precondition_failed"],
    handle: async ({ core, id }) => inFirstVersion(await getToken(core, id)),
  }),
  operation({
    name: "deleteToken",
    method: "DELETE",
    path: "/v1/tokens/:id",
    id,
    scope: "admin",
    summary: "Revoke a token",
    answer: { status: 204 },
    errors: ["token_not_found", "precondition_failed"],
    async handle({ core, caller, id, request }) {
      await getToken(core, id);
      expectOnlyVersion(request);
      await revokeToken(core, caller, id);
    },
  }),
];
