import { createCipheriv, createDecipheriv, createHmac } from "node:crypto";
import type { Random } from "../../util/ids.ts";

const ALGORITHM = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts texts for the database or a cookie. Decrypting requires the secret and the same context. The first of several
 * secrets encrypts, and all of them decrypt.
 */
export class Seal {
  readonly #secrets: readonly string[];
  readonly #random: Random;

  constructor(secrets: readonly string[], random: Random) {
    this.#secrets = secrets;
    this.#random = random;
  }

  seal(text: string, context: string): string {
    const nonce = new Uint8Array(NONCE_BYTES);
    this.#random(nonce);
    const cipher = createCipheriv(ALGORITHM, keyOf(this.#secrets[0]!, context), nonce);
    const bytes = Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
    return bytes.toString("base64url");
  }

  /** Decrypts a text. Returns undefined if it is malformed, or was sealed with another secret or context. */
  open(sealed: string, context: string): string | undefined {
    const bytes = Buffer.from(sealed, "base64url");
    for (const secret of this.#secrets) {
      try {
        const decipher = createDecipheriv(ALGORITHM, keyOf(secret, context), bytes.subarray(0, NONCE_BYTES), {
          authTagLength: TAG_BYTES,
        });
        decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
        return (
          decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, "utf8") + decipher.final("utf8")
        );
      } catch {}
    }
    return undefined;
  }
}

function keyOf(secret: string, context: string): Uint8Array {
  return createHmac("sha256", secret).update(`seal ${context}`).digest();
}
