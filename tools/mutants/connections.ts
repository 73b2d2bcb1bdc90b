// What one connection or one search may hold, and whose path a request has.
import type { Mutant } from "./mutant.ts";

const SERVER = "src/http/server.ts";
const READER = "src/http/protocol/body-reader.ts";
const PIPELINING = "src/http/protocol/pipelining.ts";
const CONTACT_ROWS = "src/db/queries/contact-lists.ts";

export const connections: readonly Mutant[] = [
  {
    name: "judge a body's pace before what came meanwhile is read",
    file: READER,
    find: "setInterval(() => setImmediate(judge), bodyIdleTimeoutMs)",
    replace: "setInterval(judge, bodyIdleTimeoutMs)",
    tests: ["attacks/slow"],
  },
  {
    name: "answer what cannot be read before what was sent whole",
    file: "src/http/protocol/raw-errors.ts",
    find: "    if (answering?.req.complete) answering",
    replace: "    if (answering?.destroyed) answering",
    tests: ["attacks/pipelining"],
  },
  {
    name: "take a request target that does not begin with a slash",
    file: SERVER,
    find: 'const isPath = target.startsWith("/") ||',
    replace: 'const isPath = target.includes("/") ||',
    tests: ["attacks/targets"],
  },
  {
    name: "take a request target with a fragment",
    file: SERVER,
    find: '  if (target.includes("#")) {',
    replace: "  if (target.length < 0) {",
    tests: ["attacks/targets"],
  },
  {
    name: "handle pipelined requests all at once",
    file: PIPELINING,
    find: "    if (response.socket) return handle!(request, response);\n",
    replace: "    return handle!(request, response);\n",
    tests: ["attacks/pipelining"],
  },
  {
    name: "any number of requests may wait on a connection",
    file: PIPELINING,
    find: "    if (count > maxWaiting) hangUp(socket);\n",
    replace: "",
    tests: ["attacks/pipelining"],
  },
  {
    name: "parse what was read of a connection that is closed",
    file: PIPELINING,
    find: "  if (socket.parser) socket.parser.onIncoming = () => NO_HTTP_FOLLOWS;\n",
    replace: "",
    tests: ["attacks/pipelining"],
  },
  {
    name: "wait for a request's headers without end",
    file: SERVER,
    find: "headersTimeout: limits.headersTimeoutMs,",
    replace: "headersTimeout: 0,",
    tests: ["attacks/slow"],
  },
  {
    name: "wait for a request's body without end",
    file: READER,
    find: "      if (!isTooSlow) return;\n",
    replace: "      if (!isTooSlow || isTooSlow) return;\n",
    tests: ["http/uploads"],
  },
  {
    name: "no least rate of a body",
    file: READER,
    find: "(waitedMs / 1000) * minBodyBytesPerSecond",
    replace: "minBodyBytesPerSecond * 0",
    tests: ["http/uploads"],
  },
  {
    name: "judge the pace of a body over its whole life",
    file: READER,
    find: "      before = this.received;\n",
    replace: "",
    tests: ["attacks/slow"],
  },
  {
    name: "take the first of two hosts, tokens or types",
    file: SERVER,
    find: "  if (twice) throw",
    replace: "  if (twice === undefined && twice) throw",
    tests: ["attacks/headers"],
  },
  {
    name: "reset a connection before its refusal was read",
    file: "src/http/protocol/raw-errors.ts",
    find: "setTimeout(() => socket.destroy(), DESTROY_AFTER_MS).unref();",
    replace: 'socket.on("finish", () => socket.destroy());',
    tests: ["http/connections"],
  },
  {
    name: "do a request whose head came after it was answered 408",
    file: "src/http/protocol/raw-errors.ts",
    find: '  socket.removeAllListeners("data").on("data", () => {});\n',
    replace: "",
    tests: ["attacks/slow"],
  },
  {
    name: "hold a connection whose request was refused for as long as the client likes",
    file: "src/http/protocol/raw-errors.ts",
    find: "setTimeout(() => socket.destroy(), DESTROY_AFTER_MS).unref();",
    replace: "",
    tests: ["http/connections"],
  },
  {
    name: "find a number by walking all contacts",
    file: CONTACT_ROWS,
    find: '  if (phoneDigits !== undefined) return "phone";\n',
    replace: "",
    tests: ["attacks/lists", "contract/plans"],
  },
  {
    name: "let the planner find blocked contacts by walking all",
    file: CONTACT_ROWS,
    find: "  blocked: HIDDEN_ID,\n",
    replace: '  blocked: { key: "c.id", mark: "?", ASC: "c.id ASC", DESC: "c.id DESC" },\n',
    tests: ["attacks/lists", "contract/plans"],
  },
  {
    name: "search all contacts in one turn of the event loop",
    file: "src/core/contacts.ts",
    find: "    await nextTurn();\n",
    replace: "",
    tests: ["attacks/lists"],
  },
  {
    name: "search as many contacts in one turn as there are",
    file: "src/core/turns.ts",
    find: "ROWS_PER_TURN = 500;",
    replace: "ROWS_PER_TURN = 2_000_000;",
    tests: ["attacks/lists"],
  },
  {
    name: "let all searches have the same turn",
    file: "src/core/turns.ts",
    find: "lastTurn = lastTurn.then(() => setImmediate());",
    replace: "lastTurn = setImmediate();",
    tests: ["attacks/lists"],
  },
  {
    name: "search on for a client that has gone",
    file: "src/core/contacts.ts",
    find: " || isAborted()",
    replace: "",
    tests: ["attacks/lists"],
  },
  {
    name: "skip the contact at which a part of a search ends",
    file: CONTACT_ROWS,
    find: "sql`${range} AND ${key} <= ${end}` : sql`${range} AND ${key} >= ${end}`",
    replace: "sql`${range} AND ${key} < ${end}` : sql`${range} AND ${key} > ${end}`",
    tests: ["attacks/lists"],
  },
];
