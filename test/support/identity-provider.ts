import {
  createHmac,
  createSecretKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from "node:crypto";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import type { JwtSettings } from "../../src/config/jwt-settings.ts";

export type Algorithm = "HS256" | "RS256" | "ES256" | "EdDSA";

/** Both keys of HS256 are its secret. */
export interface SigningKey {
  kid: string;
  alg: Algorithm;
  privateKey: KeyObject;
  publicKey: KeyObject;
}

/** A server with a key set, whose keys and answers a test can change. */
export interface Provider {
  settings: JwtSettings & { issuer: string; audience: string; keySetUrl: string };
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
const NO_KEYS = {
  ...{ issuer: ISSUER, audience: AUDIENCE, keySetUrl: null },
  ...{ secrets: [], publicKey: null, linksUsernames: false },
};

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
    settings: { ...NO_KEYS, keySetUrl: `http://127.0.0.1:${port}/keys` },
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
  if (alg === "HS256") {
    const secret = createSecretKey(randomBytes(33).toString("base64"), "utf8");
    return { kid, alg, privateKey: secret, publicKey: secret };
  }
  const pair =
    alg === "RS256"
      ? generateKeyPairSync("rsa", { modulusLength: 2048 })
      : alg === "ES256"
        ? generateKeyPairSync("ec", { namedCurve: "P-256" })
        : generateKeyPairSync("ed25519");
  return { kid, alg, ...pair };
}

/** Returns the text of a secret, for PARLEY_JWT_SECRET. */
export function secretOf({ privateKey }: SigningKey): string {
  return privateKey.export().toString();
}

/** Returns settings that accept tokens of this key and no others. */
export function ownSettings(key: SigningKey, more: Partial<JwtSettings> = {}): JwtSettings {
  const { alg: algorithm, publicKey } = key;
  const keys =
    algorithm === "HS256" ? { secrets: [secretOf(key)] } : { publicKey: { algorithm, key: publicKey } };
  return { ...NO_KEYS, ...keys, ...more };
}

export function publicPem({ publicKey }: SigningKey): string {
  return publicKey.export({ type: "spki", format: "pem" }).toString();
}

export function publicJwk({ kid, alg, publicKey }: SigningKey): object {
  return { ...publicKey.export({ format: "jwk" }), kid, alg, use: "sig" };
}

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Returns the part of a token that is signed: header and claims. */
export function unsigned(header: object, claims: object): string {
  return `${part(header)}.${part(claims)}`;
}

export function signJwt(key: SigningKey, claims: object, header: object = {}): string {
  return signText(key, unsigned({ alg: key.alg, kid: key.kid, ...header }, claims));
}

/** Adds the signature to the part that is signed. */
export function signText({ alg, privateKey }: SigningKey, text: string): string {
  const signature =
    alg === "HS256"
      ? createHmac("sha256", privateKey).update(text).digest()
      : sign(alg === "EdDSA" ? null : "sha256", Buffer.from(text), {
          key: privateKey,
          dsaEncoding: "ieee-p1363",
        });
  return `${text}.${signature.toString("base64url")}`;
}
