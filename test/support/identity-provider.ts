import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import type { JwtSettings } from "../../src/config/settings.ts";

type Algorithm = "RS256" | "ES256" | "EdDSA";

export interface SigningKey {
  kid: string;
  alg: Algorithm;
  privateKey: KeyObject;
  publicKey: KeyObject;
}

/** A server with a key set, whose keys and answers a test can change. */
export interface Provider {
  settings: JwtSettings;
  keys: SigningKey[];
  /** The number of requests for the key set. */
  asked: number;
  /** Answers in place of the key set. */
  answer: RequestListener | undefined;
  /** Stops listening. */
  close(): Promise<void>;
}

export const ISSUER = "https://login.example/realm";
export const AUDIENCE = "parley";

export async function startProvider(t: TestContext, ...keys: SigningKey[]): Promise<Provider> {
  const server = createServer((request, response) => {
    provider.asked++;
    if (provider.answer) provider.answer(request, response);
    else response.end(JSON.stringify({ keys: provider.keys.map(publicJwk) }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const provider: Provider = {
    settings: { issuer: ISSUER, audience: AUDIENCE, keySetUrl: `http://127.0.0.1:${port}/keys` },
    keys,
    asked: 0,
    answer: undefined,
    async close() {
      if (!server.listening) return;
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
  t.after(() => provider.close());
  return provider;
}

export function makeKey(alg: Algorithm, kid: string): SigningKey {
  const pair =
    alg === "RS256"
      ? generateKeyPairSync("rsa", { modulusLength: 2048 })
      : alg === "ES256"
        ? generateKeyPairSync("ec", { namedCurve: "P-256" })
        : generateKeyPairSync("ed25519");
  return { kid, alg, ...pair };
}

function publicJwk({ kid, alg, publicKey }: SigningKey): object {
  return { ...publicKey.export({ format: "jwk" }), kid, alg, use: "sig" };
}

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Returns the part of a token that is signed: header and claims. */
export function unsigned(header: object, claims: object): string {
  return `${part(header)}.${part(claims)}`;
}

export function signJwt({ kid, alg, privateKey }: SigningKey, claims: object, header: object = {}): string {
  const text = unsigned({ alg, kid, ...header }, claims);
  const hash = alg === "EdDSA" ? null : "sha256";
  const signature = sign(hash, Buffer.from(text), { key: privateKey, dsaEncoding: "ieee-p1363" });
  return `${text}.${signature.toString("base64url")}`;
}
