// Acting for users: who may, as whom, and what the audit trail says of it.
import type { Mutant } from "./mutant.ts";

export const acting: readonly Mutant[] = [
  {
    name: "every token acts as any user",
    find: 'requireScope(holder, "act_as");',
    replace: "",
    tests: ["http/acting"],
  },
  {
    name: "a session acts as any user",
    find: "if (headers.authorization === undefined) {",
    replace: "if (!headers) {",
    tests: ["http/acting"],
  },
  {
    name: "a session is made as another user",
    find: "if (!isActing(request)) return;",
    replace: "return;",
    tests: ["http/acting"],
  },
  {
    name: "pages of other origins act as any user",
    find: "KEY_HEADER, ACT_AS.toLowerCase()]",
    replace: "KEY_HEADER]",
    tests: ["http/acting"],
  },
  {
    name: "every new token has act_as",
    find: '(scope) => scope !== "act_as" && scope !== "admin",',
    replace: '(scope) => scope !== "admin",',
    tests: ["http/acting"],
  },
  {
    name: "the first token has act_as",
    find: 'SCOPES.filter((scope) => scope !== "act_as");',
    replace: "SCOPES;",
    tests: ["http/acting"],
  },
  {
    name: "a stream outlives the user as whom it was opened",
    find: 'if (actedById !== null && (await findActing(core, { id: userId })) === undefined) return "invalid_token";',
    replace: "",
    tests: ["http/acting"],
  },
  {
    name: "acting shows a user as present",
    find: "const caller = { ...holder, userId, actedById: holder.userId };",
    replace:
      "const caller = { ...holder, userId, actedById: holder.userId };\n  core.activity.note(userId, core.clock());",
    tests: ["http/acting"],
  },
  {
    name: "the audit trail does not name who acts",
    find: "actedById: caller?.actedById ?? null,",
    replace: "actedById: null,",
    tests: ["http/acting"],
  },
  {
    name: "the audit trail does not name who creates a contact as a user",
    find: "const entry = { id: actId, at: createdAt, actorId: ownerId, tokenId, actedById };",
    replace: "const entry = { id: actId, at: createdAt, actorId: ownerId, tokenId, actedById: null };",
    tests: ["http/acting"],
  },
  {
    name: "a message that somebody sends as a user has no audit entry",
    find: '...(input.entry ? [recordEntry(input.entry, "message.created", id)] : []),',
    replace: "",
    tests: ["http/acting"],
  },
  {
    name: "on PostgreSQL a message that somebody sends as a user has no audit entry",
    find: "|| files.length > 1 || message.entry) return undefined;",
    replace: "|| files.length > 1) return undefined;",
    tests: ["http/acting"],
  },
  {
    name: "other changes that somebody makes as a user have no audit entry",
    find: "yield* run(recordEntry(entry, action, objectId, details));",
    replace: "",
    tests: ["http/acting"],
  },
  {
    name: "every token connects two users",
    find: 'demandScope(caller, "act_as", "mutual");',
    replace: "",
    tests: ["http/mutual"],
  },
  {
    name: "a token that may not read contacts reads one by connecting two users",
    find: 'demandScope(caller, "contacts:read", "mutual");',
    replace: "",
    tests: ["http/mutual"],
  },
  {
    name: "connecting two users lifts the block of the other",
    find: "blocked: owner.is_blocked === 1,",
    replace: "blocked: false,",
    tests: ["http/mutual"],
  },
  {
    name: "connecting two users shows the phone numbers through a block",
    find: "const showsNumber = other.is_blocked === 0 && !input.contact.blocked;",
    replace: "const showsNumber = !input.contact.blocked;",
    tests: ["http/mutual"],
  },
  {
    name: "connecting two users and blocking one shows the phone numbers",
    find: "const showsNumber = other.is_blocked === 0 && !input.contact.blocked;",
    replace: "const showsNumber = other.is_blocked === 0;",
    tests: ["http/mutual"],
  },
  {
    name: "the limit of contacts does not hold for the other user",
    find: "if (maxContacts > 0 && (yield* countContacts(other.id, maxContacts)) >= maxContacts) {",
    replace: "if (maxContacts < 0) {",
    tests: ["http/mutual"],
  },
  {
    name: "every admin of a group makes users members",
    find: 'demandScope(caller, "act_as", "joined");',
    replace: "",
    tests: ["http/adding"],
  },
  {
    name: "a request makes any number of users members",
    find: "if (names.length <= MAX_JOINED) return;",
    replace: "return;",
    tests: ["http/adding"],
  },
  {
    name: "added users see messages from before they joined in every group",
    find: 'sinceId: joined.seesAll ? "" : joined.last_id, joined',
    replace: 'sinceId: "", joined',
    tests: ["http/adding"],
  },
  {
    name: "a group with added users has no limit",
    find: "if (uninvited.length > 0 && known.count + uninvited.length > maxMembers) throw",
    replace: "if (maxMembers < 0) throw",
    tests: ["http/adding"],
  },
  {
    name: "a bot that accepts everyone adds nobody back",
    find: "if (row.peer_id !== null || row.accepting_id === null) return created;",
    replace: "if (row.peer_id !== null || row.accepting_id !== ownerId) return created;",
    tests: ["http/mutual"],
  },
  {
    name: "on PostgreSQL a bot that accepts everyone adds nobody back",
    find: "(them.accepts_everyone = 0 AND ${none(",
    replace: "(${none(",
    tests: ["http/mutual"],
  },
  {
    name: "a bot that accepts everyone has a limit of contacts",
    find: "{ maxContacts: 0, showsNumber: false }",
    replace: "{ maxContacts: input.maxContacts, showsNumber: false }",
    tests: ["http/mutual"],
  },
  {
    name: "every user is added back",
    find: "WHERE u.username_key = ${usernameKey} AND u.accepts_everyone = 1 AND u.id <> ${ownerId}",
    replace: "WHERE u.username_key = ${usernameKey} AND u.id <> ${ownerId}",
    tests: ["http/mutual"],
  },
  {
    name: "message_limit of a user is ignored",
    find: "(message_limit ?? limits.messagesPerMinute)",
    replace: "limits.messagesPerMinute",
    tests: ["http/mutual"],
  },
];
