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
    name: "chat: the copy decides which group a name means, though the server answers",
    find: "return getConversationId(io, client, who).catch(",
    replace: "return Promise.reject(new ParleyApiError({ code: 'timeout', status: 0, detail: '' })).catch(",
    tests: ["cli/chat.all"],
  },
];
