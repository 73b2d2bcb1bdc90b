import { ParleyError } from "../../errors.ts";

const START = /=\?[^?\s]+\?[a-z]\?/i;
const WORD = String.raw`=\?[^?\s]+\?[a-z]\?[^?\s]*\?=`;
/** Matches adjacent words. Spaces between them are not part of the text. */
const WORDS = new RegExp(`${WORD}(?:[ \\t]*${WORD})*`, "gi");
const PARTS = /=\?([^?\s]+)\?([a-z])\?([^?\s]*)\?=/gi;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Decodes encoded words (RFC 2047) in a file name: .NET sends them, although RFC 7578 lacks them. Throws `malformed_body`. */
export function decodeWords(text: string): string {
  if (!START.test(text)) return text;
  if (START.test(text.replace(WORDS, ""))) throw malformed("an encoded word that is not complete");
  return text.replace(WORDS, (words) => {
    // A character may begin in one word and end in the next.
    const bytes = Array.from(words.matchAll(PARTS), ([, charset, encoding, content]) =>
      decodeWord(charset!, encoding!, content!),
    );
    try {
      return utf8.decode(Buffer.concat(bytes));
    } catch {
      throw malformed("an encoded word that is not valid UTF-8");
    }
  });
}

function decodeWord(charset: string, encoding: string, content: string): Buffer {
  // A language may follow the charset (RFC 2231, section 5).
  if (!/^utf-?8(?:\*.*)?$/i.test(charset)) throw malformed(`an encoded word in ${charset}`);
  if (/^b$/i.test(encoding)) {
    const bytes = Buffer.from(content, "base64");
    if (bytes.toString("base64") === content) return bytes;
  }
  if (/^q$/i.test(encoding) && /^(?:=[0-9a-f]{2}|[!-<>-~])*$/i.test(content)) {
    const spaced = content.replaceAll("_", " ");
    return Buffer.from(
      spaced.replace(/=(..)/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
      "latin1",
    );
  }
  throw malformed("an encoded word that is not valid");
}

function malformed(what: string): ParleyError {
  return new ParleyError(
    "malformed_body",
    `The filename of a part has ${what} (RFC 2047). Send the name as UTF-8, as it is, or in filename* (RFC 8187).`,
  );
}
