import { codePoints } from "./text.ts";

/** The offset at which a text stops being JSON, and what JSON requires there. */
interface SyntaxFault {
  offset: number;
  expected: string;
}

const SCALAR = /(?:true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?![\w.+-])/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/**
 * Finds the syntax error of a text that `JSON.parse` refuses, whose message quotes the text and often has no
 * position. Returns undefined if there is none. Does not recurse, so depth is no problem.
 */
export function findSyntaxFault(json: string): SyntaxFault | undefined {
  return new Scanner(json).scan();
}

type State = "value" | "first value" | "name" | "first name" | "after";

class Scanner {
  readonly #json: string;
  #at = 0;
  /** The closing brackets of the enclosing objects and arrays. */
  readonly #open: ("}" | "]")[] = [];
  #state: State = "value";

  constructor(json: string) {
    this.#json = json;
  }

  scan(): SyntaxFault | undefined {
    for (;;) {
      this.#skipSpace();
      const isEnd = this.#state === "after" && this.#open.length === 0;
      if (isEnd && this.#at === this.#json.length) return undefined;
      const expected = isEnd ? "the end" : this.#step();
      if (expected !== undefined) return { offset: this.#at, expected };
    }
  }

  /** Reads the next token. Returns what JSON requires here if the token is something else. */
  #step(): string | undefined {
    const closing = this.#open.at(-1);
    const state = this.#state;
    const mayClose = state === "after" || state === "first value" || state === "first name";
    if (mayClose && closing !== undefined && this.#take(closing)) {
      this.#open.pop();
      this.#state = "after";
      return undefined;
    }
    if (state === "after") {
      if (!this.#take(",")) return `a comma or ${closing}`;
      this.#state = closing === "}" ? "name" : "value";
      return undefined;
    }
    return state.endsWith("name") ? this.#readName() : this.#readValue();
  }

  #readName(): string | undefined {
    if (this.#json[this.#at] !== '"') return "a name in double quotes";
    const expected = this.#readString();
    if (expected !== undefined) return expected;
    this.#skipSpace();
    if (!this.#take(":")) return "a colon";
    this.#state = "value";
    return undefined;
  }

  #readValue(): string | undefined {
    if (this.#take("{")) {
      this.#open.push("}");
      this.#state = "first name";
    } else if (this.#take("[")) {
      this.#open.push("]");
      this.#state = "first value";
    } else {
      this.#state = "after";
      if (this.#json[this.#at] === '"') return this.#readString();
      if (!this.#skip(SCALAR)) return "a value";
    }
    return undefined;
  }

  #readString(): string | undefined {
    this.#at++;
    for (;;) {
      while (isPlain(this.#code())) this.#at++;
      if (this.#take('"')) return undefined;
      if (!this.#skip(ESCAPE)) return this.#json[this.#at] === "\\" ? "a valid escape" : "a double quote";
    }
  }

  #take(sign: string): boolean {
    if (this.#json[this.#at] !== sign) return false;
    this.#at++;
    return true;
  }

  /** Not a regular expression: this runs for each token and takes most of the time. */
  #skipSpace(): void {
    for (let code = this.#code(); code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09; ) {
      this.#at++;
      code = this.#code();
    }
  }

  #code(): number {
    return this.#json.charCodeAt(this.#at);
  }

  /** Skips what matches here, and reports whether anything did. */
  #skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    const length = pattern.exec(this.#json)?.[0].length ?? 0;
    this.#at += length;
    return length > 0;
  }
}

/** Reports whether a string may contain the character unescaped. False for NaN, the end of the text. */
function isPlain(code: number): boolean {
  return code >= 0x20 && code !== 0x22 && code !== 0x5c;
}

/** Describes a position in a text: line and column in characters, both from 1. */
export function toLineAndColumn(text: string, offset: number): string {
  const lines = text.slice(0, offset).split(/\r\n?|\n/);
  return `line ${lines.length}, column ${codePoints(lines.at(-1)!) + 1}`;
}
