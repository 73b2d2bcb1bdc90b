import type { Row } from "./matrix-rows.ts";

// The owner is the admin of the group. `member` and `blocked` have joined it, and `invited` has an invitation.

const shown = { stranger: 404, invited: 200, blocked: 200, member: 200, owner: 200 };
const forMembers = (status: number) => ({
  stranger: 404,
  invited: 404,
  blocked: status,
  member: status,
  owner: status,
});
const forAdmins = (status: number) => ({
  stranger: 404,
  invited: 403,
  blocked: 403,
  member: 403,
  owner: status,
});
const forAll = (status: number) => ({
  stranger: status,
  invited: status,
  blocked: status,
  member: status,
  owner: status,
});

export const GROUP_ROWS: Row[] = [
  { route: "GET /v1/groups", path: "/v1/groups", expected: forAll(200) },
  {
    route: "POST /v1/groups",
    path: "/v1/groups",
    body: { name: "new", members: ["nobody"] },
    expected: forAll(201),
  },
  { route: "GET /v1/groups/:id", path: "/v1/groups/<group>", expected: shown },
  { route: "POST /v1/groups/:id/join", path: "/v1/groups/<group>/join", expected: shown },
  { route: "GET /v1/groups/:id/members", path: "/v1/groups/<group>/members", expected: forMembers(200) },
  {
    route: "POST /v1/groups/:id/members",
    path: "/v1/groups/<group>/members",
    body: { username: "nobody" },
    expected: forAdmins(201),
  },
  {
    route: "PUT /v1/groups/:id",
    path: "/v1/groups/<group>",
    body: { name: "renamed" },
    expected: forAdmins(200),
  },
  {
    route: "GET /v1/groups/:id/members/:member_id",
    path: "/v1/groups/<group>/members/<seat>",
    expected: forMembers(200),
  },
  {
    route: "PUT /v1/groups/:id/members/:member_id",
    path: "/v1/groups/<group>/members/<seat>",
    body: { role: "member" },
    expected: forAdmins(200),
  },
  {
    route: "DELETE /v1/groups/:id/members/:member_id",
    path: "/v1/groups/<group>/members/<seat>",
    expected: forAdmins(204),
  },
  {
    route: "DELETE /v1/groups/:id/members/:member_id",
    path: "/v1/groups/<group>/members/<invitation>",
    expected: forAdmins(204),
  },
  {
    route: "DELETE /v1/groups/:id",
    path: "/v1/groups/<group>",
    expected: { ...forAll(204), stranger: 404 },
  },
  {
    route: "GET /v1/conversations/:id",
    path: "/v1/conversations/<groupConversation>",
    expected: forMembers(200),
  },
  {
    route: "GET /v1/messages",
    path: "/v1/messages?conversation_id=<groupConversation>",
    expected: forMembers(200),
  },
  {
    route: "POST /v1/messages",
    path: "/v1/messages",
    body: { conversation_id: "<groupConversation>", text: "x" },
    expected: forMembers(201),
  },
  { route: "GET /v1/messages/:id", path: "/v1/messages/<groupMessage>", expected: forMembers(200) },
  {
    route: "GET /v1/messages/:id",
    path: "/v1/messages/<groupMessageFromBlocked>",
    expected: { ...forMembers(200), owner: 404 },
  },
  {
    route: "GET /v1/messages/:id/readers",
    path: "/v1/messages/<groupMessage>/readers",
    expected: forMembers(200),
  },
  {
    route: "GET /v1/messages/:id/readers",
    path: "/v1/messages/<groupMessageFromBlocked>/readers",
    expected: { ...forMembers(200), owner: 404 },
  },
  {
    route: "PUT /v1/messages/:id",
    path: "/v1/messages/<groupMessage>",
    body: { text: "y" },
    expected: { ...forMembers(403), owner: 200 },
  },
  {
    route: "PUT /v1/messages/:id/reactions/:emoji",
    path: "/v1/messages/<groupMessage>/reactions/x",
    expected: forMembers(204),
  },
  {
    route: "PUT /v1/messages/:id/reactions/:emoji",
    path: "/v1/messages/<groupMessageFromBlocked>/reactions/x",
    expected: { ...forMembers(204), owner: 404 },
  },
  {
    route: "PUT /v1/messages/:id/reactions/:emoji",
    path: "/v1/messages/<joined>/reactions/x",
    expected: forMembers(204),
  },
  {
    route: "DELETE /v1/messages/:id",
    path: "/v1/messages/<groupMessage>",
    expected: { ...forMembers(403), owner: 204 },
  },
  {
    route: "DELETE /v1/messages/:id",
    path: "/v1/messages/<joined>?for=me",
    expected: forMembers(204),
  },
  {
    route: "DELETE /v1/messages/:id",
    path: "/v1/messages/<joined>",
    expected: forMembers(403),
  },
  {
    route: "GET /v1/attachments",
    path: "/v1/attachments?conversation_id=<groupConversation>",
    expected: forMembers(200),
  },
  {
    route: "POST /v1/attachments",
    path: "/v1/attachments?conversation_id=<groupConversation>",
    file: true,
    expected: forMembers(201),
  },
  {
    route: "GET /v1/attachments/:id",
    path: "/v1/attachments/<groupAttachment>",
    expected: forMembers(200),
  },
  {
    route: "GET /files/:id/:filename",
    path: "/files/<groupAttachmentFromBlocked>/x",
    expected: { ...forMembers(200), owner: 404 },
  },
];
