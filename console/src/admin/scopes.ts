// The scopes of tokens, with a line about each.

export const SCOPES = [
  ["contacts:read", "See the contact list"],
  ["contacts:write", "Add, rename, block and delete contacts"],
  ["messages:read", "Read messages and conversations"],
  ["messages:write", "Send, edit and delete messages"],
  ["attachments:read", "See and download files"],
  ["attachments:write", "Upload, rename and delete files"],
  ["groups:read", "See groups, their members and invitations"],
  ["groups:write", "Create groups, invite, join and leave"],
  ["events:read", "Follow changes, and manage webhooks and push notifications"],
  ["act_as", "Send requests as any user, for a back end"],
  ["admin", "Manage all users, tokens and webhooks, read the audit trail and the metrics"],
] as const;

/** Summarizes the scopes of a token. */
export function describeScopes(scopes: readonly string[]): string {
  const missing = SCOPES.map(([scope]) => scope).filter((scope) => !scopes.includes(scope));
  if (missing.length === 0) return "All";
  if (missing.join() === "act_as,admin") return "All of a user";
  if (missing.length === 1) return `All except ${missing[0]}`;
  return scopes.join(", ");
}
