import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import Provider from "oidc-provider";

/** A certified OpenID provider, with its pages for sign-in and consent, that knows every account. */
export interface OpenIdProvider {
  issuer: string;
  clientId: string;
  /** Registers the client. The provider answers from then on. */
  register(redirectUri: string): void;
  /** Stops listening. */
  close(): Promise<void>;
}

export async function startOpenIdProvider(t: TestContext): Promise<OpenIdProvider> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const clientId = "parley-console";
  function register(redirectUri: string): void {
    const client = {
      client_id: clientId,
      token_endpoint_auth_method: "none",
      redirect_uris: [redirectUri],
      // Its own rule would require https.
      application_type: "native",
    } as const;
    const provider = new Provider(issuer, {
      clients: [client],
      pkce: { required: () => true },
      claims: { profile: ["name", "preferred_username"], phone: ["phone_number"] },
      findAccount: (_context, sub) => ({
        accountId: sub,
        claims: async () => ({ sub, preferred_username: sub, name: `${sub} at the provider` }),
      }),
    });
    server.on("request", provider.callback());
  }
  async function close(): Promise<void> {
    if (!server.listening) return;
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  }
  t.after(close);
  return { issuer, clientId, register, close };
}
