// Pausing users: what is refused, what ends and what waits.
import type { Mutant } from "./mutant.ts";

export const pausing: readonly Mutant[] = [
  {
    name: "pausing: requests of a paused user are accepted",
    find: "rates.count(caller, reply); // The activity of a paused user stays, because contacts see it. requireActive(verified);",
    replace: "rates.count(caller, reply);",
    tests: ["http/pausing"],
  },
  {
    name: "pausing: a token from before the pause stays cached",
    find: "NOTE_REVOCATION, recordEntry(entry, isPaused",
    replace: "recordEntry(entry, isPaused",
    tests: ["http/pausing"],
  },
  {
    name: "pausing: a body that began before a pause or a revocation is accepted after it",
    find: "if (before === null || before !== countRevocations(core)) await recheckCaller(context, request);",
    replace: "",
    tests: ["http/pausing"],
  },
  {
    name: "pausing: others act as a paused user",
    find: 'if (user && user.paused_at !== null) throw new ParleyError("user_paused");',
    replace: "",
    tests: ["http/pausing"],
  },
  {
    name: "pausing: a sign-in at the provider makes a token for a paused user",
    find: 'if (user.paused_at !== null) throw new ParleyError("user_paused");',
    replace: "",
    tests: ["http/pausing"],
  },
  {
    name: "pausing: the profile of a paused user is taken from JWTs",
    find: "if (user?.paused_at === null) await takeProfile(",
    replace: "if (user) await takeProfile(",
    tests: ["http/pausing"],
  },
  {
    name: "pausing: a sign-in link of a paused user works",
    find: "return requireActive(await verify(core, token, true));",
    replace: "return verify(core, token, true);",
    tests: ["http/pausing"],
  },
  {
    name: "pausing: webhooks of a paused user are sent to",
    find: "AND NOT EXISTS (SELECT 1 FROM users u WHERE u.id = webhooks.user_id AND u.paused_at IS NOT NULL)`;",
    replace: "`;",
    tests: ["http/pausing"],
  },
  {
    name: "pausing: the time of a pause counts as failing",
    find: "...(isPaused ? [] : [forgetFailures(userId)]),",
    replace: "",
    tests: ["http/pausing"],
  },
  {
    name: "pausing: administrators pause themselves",
    find: "if (paused && (caller?.userId === id || caller?.actedById === id)) {",
    replace: "if (paused && caller === null) {",
    tests: ["http/pausing"],
  },
  {
    name: "pausing: a stream of a paused user continues",
    find: 'new Set<ErrorCode>(["invalid_token", "user_paused"]);',
    replace: 'new Set<ErrorCode>(["invalid_token"]);',
    tests: ["http/pausing"],
  },
];
