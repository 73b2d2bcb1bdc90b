import type { JWTPayload } from "jose";
import type { Configuration } from "openid-client";
import type { OpenIdSettings } from "../../config/settings.ts";
import { ParleyError } from "../../errors.ts";
import { isLoopback } from "../../util/addresses.ts";

/** The values that bind the answer of the provider to the browser that began the sign-in. */
export interface PendingSignIn {
  /** RFC 7636, section 4.1. */
  verifier: string;
  state: string;
  nonce: string;
}

const TIMEOUT_SECONDS = 5;

/** Signs users in at an OpenID provider by the authorization code flow with PKCE (OpenID Connect Core 1.0, section 3.1). */
export class OpenId {
  readonly issuer: string;
  readonly #settings: OpenIdSettings;
  readonly #failed: (error: unknown) => void;
  #found: Promise<Configuration> | undefined;

  /** `failed` is called with each error of the provider. */
  constructor(settings: OpenIdSettings, failed: (error: unknown) => void) {
    this.issuer = settings.issuer;
    this.#settings = settings;
    this.#failed = failed;
  }

  /** Returns the provider's page to send the browser to. Throws `unavailable`. */
  async begin(redirectUri: string): Promise<{ url: string; pending: PendingSignIn }> {
    const client = await import("openid-client");
    const configuration = await this.#discover();
    const pending = {
      verifier: client.randomPKCECodeVerifier(),
      state: client.randomState(),
      nonce: client.randomNonce(),
    };
    const url = client.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: scopesFor(configuration),
      code_challenge: await client.calculatePKCECodeChallenge(pending.verifier),
      code_challenge_method: "S256",
      state: pending.state,
      nonce: pending.nonce,
    });
    return { url: url.href, pending };
  }

  /**
   * Redeems the answer that the provider sent to `redirectUri`, and returns the claims about the user, verified. Throws
   * `invalid_token` if the answer does not belong to `pending` or the provider refuses it, and `unavailable`.
   */
  async finish(redirectUri: string, answer: string, pending: PendingSignIn): Promise<JWTPayload> {
    const client = await import("openid-client");
    const configuration = await this.#discover();
    const url = new URL(redirectUri);
    url.search = answer;
    try {
      const tokens = await client.authorizationCodeGrant(configuration, url, {
        pkceCodeVerifier: pending.verifier,
        expectedState: pending.state,
        expectedNonce: pending.nonce,
        idTokenExpected: true,
      });
      const claims = tokens.claims()!;
      if (!configuration.serverMetadata().userinfo_endpoint) return claims;
      // Providers may leave the profile out of the ID token (OpenID Connect Core 1.0, section 5.4).
      return { ...claims, ...(await client.fetchUserInfo(configuration, tokens.access_token, claims.sub)) };
    } catch (error) {
      this.#failed(error);
      if (isOutage(error)) throw unavailable();
      throw new ParleyError("invalid_token", "The identity provider did not sign you in. Sign in again.");
    }
  }

  /** Asks the provider once for all sign-ins that wait for it, and again after a failure. */
  #discover(): Promise<Configuration> {
    this.#found ??= this.#ask().catch((error) => {
      this.#found = undefined;
      this.#failed(error);
      throw unavailable();
    });
    return this.#found;
  }

  async #ask(): Promise<Configuration> {
    const client = await import("openid-client");
    const { issuer, clientId, clientSecret } = this.#settings;
    const isLocal = isLoopback(new URL(issuer).hostname);
    return client.discovery(
      new URL(issuer),
      clientId,
      undefined,
      clientSecret === null ? client.None() : client.ClientSecretBasic(clientSecret),
      { timeout: TIMEOUT_SECONDS, execute: isLocal ? [client.allowInsecureRequests] : [] },
    );
  }
}

function unavailable(): ParleyError {
  const detail = "The identity provider does not answer. Try again in a minute.";
  return new ParleyError("unavailable", detail, { header: "60" });
}

/** Codes of errors of the provider (RFC 6749, section 4.1.2.1), and of the client for an answer that is late, no JSON or cut off. */
const OUTAGES: ReadonlySet<unknown> = new Set([
  "server_error",
  "temporarily_unavailable",
  "OAUTH_TIMEOUT",
  "OAUTH_RESPONSE_IS_NOT_JSON",
  "OAUTH_PARSE_ERROR",
]);

/** An error of the client. Its cause is the answer if the status has no meaning for the client. */
interface ClientFailure {
  code?: unknown;
  error?: unknown;
  status?: number;
  cause?: { status?: number };
}

/** Reports whether the provider could not answer, and has refused nothing. */
function isOutage(thrown: unknown): boolean {
  const { code, error, cause, status = cause?.status ?? 0 } = thrown as ClientFailure;
  if (OUTAGES.has(code) || OUTAGES.has(error) || status >= 500 || status === 429) return true;
  // Without a connection `fetch` throws a TypeError. Those of the client have a code.
  return thrown instanceof TypeError && code === undefined;
}

const PROFILE = ["profile", "phone"];

/** Returns the scopes to ask for. Some providers refuse a scope that they do not know, instead of ignoring it. */
function scopesFor(configuration: Configuration): string {
  const { scopes_supported: supported = ["profile"] } = configuration.serverMetadata();
  return ["openid", ...PROFILE.filter((scope) => supported.includes(scope))].join(" ");
}
