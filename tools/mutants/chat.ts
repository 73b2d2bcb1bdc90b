import type { Mutant } from "./mutant.ts";

/** The copy that `parley chat` keeps in the user's folder. */
export const chat: readonly Mutant[] = [
  {
    name: "chat: all logins at a server have one copy",
    find: "JSON.stringify([url, user_id])",
    replace: "JSON.stringify([url])",
    tests: ["cli/chat.all"],
  },
  {
    name: "chat: logout keeps the copy",
    find: "await eraseCopies(io);",
    replace: "",
    tests: ["cli/chat.all"],
  },
  {
    name: "chat: a back end's chat as a user is kept in the copy of its login",
    find: "if (user_id !== undefined && io.actAs === undefined)",
    replace: "if (user_id !== undefined)",
    tests: ["cli/chat.all"],
  },
  {
    name: "chat: a group is found by the name that it had",
    find: "return getConversationId(io, client, who).catch(",
    replace: "return Promise.reject(new ParleyApiError({ code: 'timeout', status: 0, detail: '' })).catch(",
    tests: ["cli/chat.all"],
  },
  {
    name: "sync: two processes open one SQLite file",
    find: "PRAGMA locking_mode = EXCLUSIVE;",
    replace: "",
    tests: ["sync/stores"],
  },
  {
    name: "sync: a device is live before it has what it missed",
    find: 'else if (state === "ready" && this.#newest === null) this.#hooks.state("live");',
    replace: 'else if (state === "ready") this.#hooks.state("live");',
    tests: ["sync/sync"],
  },
];
