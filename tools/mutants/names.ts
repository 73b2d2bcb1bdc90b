// Search in names of contacts and files: what it finds, and how much of it one request looks at.
import type { Mutant } from "./mutant.ts";

const TEXT = "src/util/text.ts";
const SEARCH = "src/core/resource/name-search.ts";
const CONTACTS = "src/db/queries/people/contact-lists.ts";
const PAGE = "src/core/resource/page.ts";

export const names: readonly Mutant[] = [
  {
    name: "find a contact by any part of a name",
    file: TEXT,
    find: "STARTS_UNSPACED.test(word) ? word : ` ${word}`",
    replace: "word",
    tests: ["unit/text", "acceptance/search/name-search"],
  },
  {
    name: "find a Chinese name by its beginning alone",
    file: TEXT,
    find: "STARTS_UNSPACED.test(word) ? word : ` ${word}`",
    replace: "` ${word}`",
    tests: ["unit/text", "acceptance/search/name-search"],
  },
  {
    name: "find a file by any part of its name",
    file: TEXT,
    find: "STARTS_UNSPACED.test(word) || begins.some(",
    replace: "word !== '' || begins.some(",
    tests: ["unit/text", "acceptance/search/name-search"],
  },
  {
    name: "find a file by numbers of its name only after a space",
    file: TEXT,
    find: "[[\\\\p{L}\\\\p{M}]--${UNSPACED}]+|[\\\\p{N}--${UNSPACED}]+",
    replace: "[[\\\\p{L}\\\\p{M}\\\\p{N}]--${UNSPACED}]+",
    tests: ["unit/text", "acceptance/search/name-search"],
  },
  {
    name: "take letters beside digits for a phone number",
    file: TEXT,
    find: " || !PHONE_PART.test(typed)",
    replace: "",
    tests: ["unit/text", "acceptance/search/name-search"],
  },
  {
    name: "look for a number with the zeros that are dialled before it",
    file: TEXT,
    find: 'digits.replace(/^0+(?=[0-9]{6})/, "")',
    replace: "digits",
    tests: ["unit/text", "acceptance/search/name-search"],
  },
  {
    name: "know digits of Latin alone",
    file: "src/util/words.ts",
    find: "return text.replace(DIGITS, toLatin);",
    replace: "return text;",
    tests: ["unit/text"],
  },
  {
    name: "search names with their accents",
    file: TEXT,
    find: "return fold(text)\n",
    replace: "return usernameKey(text)\n",
    tests: ["unit/text", "http/people/contact-keys"],
  },
  {
    name: "keep the search keys of older contacts",
    file: "src/app.ts",
    find: "  await renewContactKeys(db);\n",
    replace: "",
    tests: ["http/people/contact-keys"],
  },
  {
    name: "renew the keys of contacts that have changed meanwhile",
    file: "src/db/queries/people/contact-keys.ts",
    find: " AND body = ${body}`",
    replace: "`",
    tests: ["http/people/contact-keys"],
  },
  {
    name: "find contacts that have one word of several",
    file: CONTACTS,
    find: "sql`${condition} AND ${each}`",
    replace: "sql`${condition} OR ${each}`",
    tests: ["acceptance/search/name-search", "http/search/name-search"],
  },
  {
    name: "find everybody's contacts by digits",
    file: CONTACTS,
    find: "AND (${isFoundBy(search)})`",
    replace: "AND ${isFoundBy(search)}`",
    tests: ["http/search/name-search"],
  },
  {
    name: "search for any number of words",
    file: "src/core/resource/fields.ts",
    find: " && searchWords(value).length <= MAX_NAME_WORDS",
    replace: "",
    tests: ["unit/fields", "acceptance/search/name-search"],
  },
  {
    name: "find files that the caller does not see",
    file: "src/db/queries/files/attachments.ts",
    find: "${findSeen(userId)} AND a.id IN (${list(padded(ids))})",
    replace: "SELECT ${COLUMNS} FROM attachments a WHERE a.id IN (${list(padded(ids))})",
    tests: ["http/search/name-search"],
  },
  {
    name: "find users that have one word of several",
    file: "src/core/people/users.ts",
    find: "parts.every((part) => key.includes(part))",
    replace: "parts.some((part) => key.includes(part))",
    tests: ["http/search/name-search"],
  },
  {
    name: "skip files behind those that match and are not seen",
    file: SEARCH,
    find: "cursor = isWhole ? names.at(-1)!.id : wanted.at(-1)!;",
    replace: "cursor = names.at(-1)!.id;",
    tests: ["http/search/name-search"],
  },
  {
    name: "look at the names of all files for one request",
    file: SEARCH,
    find: "looked < MAX_LOOKED_AT;",
    replace: ";",
    tests: ["http/search/name-search"],
  },
  {
    name: "look at 500 long names of files in one turn of the event loop",
    file: SEARCH,
    find: "if (characters + length > CHARACTERS_PER_TURN) {",
    replace: "if (characters < 0) {",
    tests: ["unit/turns"],
  },
  {
    name: "look at the names of all files in one turn of the event loop",
    file: SEARCH,
    find: "    if (looked > 0) await turns.next();\n",
    replace: "",
    tests: ["attacks/lists"],
  },
  {
    name: "go on behind the items of a page that was cut short, not behind what was looked at",
    file: PAGE,
    find: "newer ? { first: end, last: last ?? end } : { first: first ?? end, last: end }",
    replace:
      "newer ? { first: first ?? end, last: last ?? end } : { first: first ?? end, last: last ?? end }",
    tests: ["unit/page", "http/search/name-search"],
  },
  {
    name: "end a list with a page that was cut short",
    file: PAGE,
    find: "{ has_more: true, data, cursors:",
    replace: "{ has_more: false, data, cursors:",
    tests: ["unit/page", "http/search/name-search"],
  },
];
