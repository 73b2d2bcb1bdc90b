// Files: their names and types, how they are served, their links, and that they are durable.
import type { Mutant } from "./mutant.ts";

export const files: readonly Mutant[] = [
  {
    name: "files have no sandbox policy",
    find: "[/^/, \"default-src 'none'; sandbox\"]",
    replace: "[/^/, \"default-src 'none'\"]",
    tests: ["acceptance/files"],
  },
  {
    name: "files of all types are shown in the browser",
    find: "!download && INLINE.test(fileType)",
    replace: "!download",
    tests: ["acceptance/files"],
  },
  {
    name: "without its scanner the server accepts files",
    find: "if (this.settings.passUnscanned)",
    replace: "",
    tests: ["http/scans"],
  },
  {
    name: "HTML is served as HTML",
    find: "/html|[/+-]xml|",
    replace: "/[/+-]xml|",
    tests: ["acceptance/attachment-types"],
  },
  {
    name: "the server accesses a path that a client named",
    find: 'mime ??= (await loaded(import("mime"))).default;',
    replace:
      'await (await import("node:fs/promises")).access(filename).catch(() => {}); mime ??= (await loaded(import("mime"))).default;',
    tests: ["attacks/paths"],
  },
  {
    name: "a link never expires",
    find: "if (left <= 0 || left > MAX_SECONDS_LEFT) return false;",
    replace: "",
    tests: ["unit/links"],
  },
  {
    name: "a link needs no signature",
    find: "if (![...secrets, ...old].some((secret) => equal(hmac(secret, text), signature))) return false;",
    replace: "if (!Array.isArray(old)) return false;",
    tests: ["unit/links"],
  },
  {
    name: "a link to a file opens all others",
    find: '.update(text).digest("base64url")',
    replace: '.update(text.split(".")[1]!).digest("base64url")',
    tests: ["unit/links"],
  },
  {
    name: "a link is verified without its user",
    find: "return `file.${userId}.${attachmentId}`;",
    replace: "return userId && `file.${attachmentId}`;",
    tests: ["unit/links", "http/file-links"],
  },
  {
    name: "a file is not synced",
    find: "await syncOrBlow(fuse, () => this.#file.datasync());",
    replace: "",
    tests: ["faults/sync-order"],
  },
  {
    name: "the folder of a file is not synced",
    find: "await syncOrBlow(fuse, () => syncFolder(dirname(path)));",
    replace: "",
    tests: ["faults/sync-order"],
  },
  {
    name: "the log of the database is not synced",
    find: "PRAGMA synchronous = FULL;",
    replace: "PRAGMA synchronous = NORMAL;",
    tests: ["faults/sync-order"],
  },
  {
    name: "writes continue after a failed sync",
    find: 'if ((error as NodeJS.ErrnoException).code === "EIO") fuse.blow(error);',
    replace: "if (fuse === null) throw error;",
    tests: ["faults/sync-error"],
  },
  {
    name: "writes are acknowledged before they are committed",
    find: 'run("BEGIN IMMEDIATE"); try { const outcomes = writes.map(runOne); run("COMMIT");',
    replace:
      'if (db.isTransaction) run("COMMIT"); run("BEGIN IMMEDIATE"); try { const outcomes = writes.map(runOne); setTimeout(() => db.isTransaction && run("COMMIT"), 20);',
    tests: ["faults/sync-order"],
  },
  {
    name: "a delete is acknowledged before it is committed",
    find: 'await core.db.write("deleteAttachment", {',
    replace: 'void core.db.write("deleteAttachment", {',
    tests: ["faults/sync-order"],
  },
  {
    name: "a refused file stays in the store",
    find: "if (!this.#isDone) await this.#discard();",
    replace: "",
    tests: ["attacks/multipart"],
  },
  {
    name: "audio and video have a sandbox that runs scripts",
    find: "sandbox allow-same-origin",
    replace: "sandbox allow-same-origin allow-scripts",
    tests: ["acceptance/files"],
  },
  {
    name: "shared caches can store a file",
    find: "? `private, max-age=${maxAge}`",
    replace: "? `public, max-age=${maxAge}`",
    tests: ["acceptance/files"],
  },
  {
    name: "the console runs inline scripts",
    find: "\"script-src 'self'\",",
    replace: "\"script-src 'self' 'unsafe-inline'\",",
    tests: ["console/serving"],
  },
  {
    name: "other sites can frame the console",
    find: "\"frame-ancestors 'none'\",",
    replace: "",
    tests: ["console/serving"],
  },
  {
    name: "the type of a file is detected from any number of bytes",
    find: "export const SNIFF_BYTES = 4096;",
    replace: "export const SNIFF_BYTES = 65536;",
    tests: ["attacks/media"],
  },
];
