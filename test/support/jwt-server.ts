// A server with JWT settings from environment variables, at a fixed time.
import type { TestContext } from "node:test";
import { readConfig } from "../../src/config/settings.ts";
import { startOn, type TestApp, testConfig } from "./app.ts";
import { AUDIENCE, ISSUER } from "./identity-provider.ts";

/** The time at the start, in seconds. */
export const NOW = Date.UTC(2026, 0, 1) / 1000;
export const JWT_CLAIMS = { PARLEY_JWT_ISSUER: ISSUER, PARLEY_JWT_AUDIENCE: AUDIENCE };

/** Returns the claims of a valid token, with these changes. */
export const claims = (more: object = {}) => ({
  ...{ iss: ISSUER, aud: AUDIENCE, sub: "42", preferred_username: "ada", exp: NOW + 600 },
  ...more,
});

/** Starts a server with these settings, whose clock a test can change. */
export async function startWithJwt(
  t: TestContext,
  env: Record<string, string>,
): Promise<TestApp & { clock: { now: number } }> {
  const clock = { now: NOW * 1000 };
  const { jwt } = readConfig(env);
  const server = await startOn(t, { ...(await testConfig(t)), jwt }, { clock: () => clock.now });
  return { ...server, clock };
}

/** Returns the status, and the user or the reason, for `GET /v1/me` with this token. */
export async function askMe(
  { url }: TestApp,
  token: string,
): Promise<{ status: number; id: string; detail: string }> {
  const response = await fetch(`${url}/v1/me`, { headers: { authorization: `Bearer ${token}` } });
  return { ...((await response.json()) as { id: string; detail: string }), status: response.status };
}
