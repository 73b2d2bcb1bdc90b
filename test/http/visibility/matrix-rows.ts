// The status of each route for each person.

/**
 * `owner` created everything. `member` and `blocked` have the owner as a contact and are the owner's contacts; the
 * owner has blocked the latter. `stranger` is a user without contacts. `invited` has the owner as a contact and an
 * invitation to a group.
 */
export const PEOPLE = ["stranger", "invited", "blocked", "member", "owner"] as const;
export type Person = (typeof PEOPLE)[number];

/** A hostname that never resolves. */
export const HOOK = { url: "https://receiver.invalid/" };

/** The keys of RFC 8291, section 5. */
export const DEVICE = {
  endpoint: "https://push.invalid/",
  p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
  auth: "BTBZMqHH6r4Tts7J_aSIgg",
};

export interface Row {
  /** The route with its fields; ids in angle brackets are those of the scene. */
  route: string;
  path: string;
  body?: object;
  file?: boolean;
  headers?: Record<string, string>;
  /** The status for each person; a single one if all are refused alike. */
  expected: Record<Person, number>;
}

const all = (status: number) => ({
  ...{ stranger: status, invited: status, blocked: status },
  ...{ member: status, owner: status },
});
const own = (status: number, others = 404) => ({ ...all(others), owner: status });

/** Each route with the ids that somebody else could try. Routes that change things for the owner come last. */
export const ROWS: Row[] = [
  { route: "GET /v1/contacts", path: "/v1/contacts", expected: all(200) },
  {
    route: "POST /v1/contacts",
    path: "/v1/contacts",
    body: { username: "new", phone_number: "555" },
    expected: all(201),
  },
  { route: "GET /v1/contacts/:id", path: "/v1/contacts/<contact>", expected: own(200) },
  {
    route: "PUT /v1/contacts/:id",
    path: "/v1/contacts/<contact>",
    body: { display_name: "x" },
    expected: own(200),
  },
  { route: "PUT /v1/contacts/:id/block", path: "/v1/contacts/<contact>/block", expected: own(204) },
  { route: "DELETE /v1/contacts/:id/block", path: "/v1/contacts/<contact>/block", expected: own(204) },
  { route: "DELETE /v1/contacts/:id", path: "/v1/contacts/<contact>", expected: own(204) },
  { route: "GET /v1/blocks", path: "/v1/blocks", expected: all(200) },
  { route: "PUT /v1/blocks/:username", path: "/v1/blocks/nobody", expected: all(204) },
  { route: "DELETE /v1/blocks/:username", path: "/v1/blocks/nobody", expected: all(204) },
  { route: "GET /v1/conversations", path: "/v1/conversations", expected: all(200) },
  { route: "GET /v1/snapshot", path: "/v1/snapshot", expected: all(200) },
  {
    route: "GET /v1/conversations/:id",
    path: "/v1/conversations/<conversation>",
    expected: { ...own(200), member: 200 },
  },
  {
    route: "GET /v1/conversations/:id",
    path: "/v1/conversations/<conversationWithBlocked>",
    expected: { ...own(200), blocked: 200 },
  },
  {
    route: "PUT /v1/conversations/:id",
    path: "/v1/conversations/<conversation>",
    body: { is_pinned: true },
    expected: { ...own(200), member: 200 },
  },
  {
    route: "PUT /v1/conversations/:id/read",
    path: "/v1/conversations/<conversation>/read",
    body: { message_id: "<message>" },
    expected: { ...own(204), member: 204 },
  },
  {
    route: "PUT /v1/conversations/:id/read",
    path: "/v1/conversations/<conversationWithBlocked>/read",
    body: { message_id: "<messageToBlocked>" },
    expected: { ...own(204), blocked: 204 },
  },
  {
    route: "POST /v1/conversations/:id/typing",
    path: "/v1/conversations/<conversation>/typing",
    expected: { ...own(204), member: 204 },
  },
  {
    route: "POST /v1/conversations/:id/typing",
    path: "/v1/conversations/<conversationWithBlocked>/typing",
    expected: { ...own(204), blocked: 204 },
  },
  {
    route: "GET /v1/messages",
    path: "/v1/messages?conversation_id=<conversation>",
    expected: { ...own(200), member: 200 },
  },
  {
    route: "GET /v1/messages",
    path: "/v1/messages?conversation_id=<conversationWithBlocked>",
    expected: { ...own(200), blocked: 200 },
  },
  {
    route: "GET /v1/messages",
    path: "/v1/messages?q=x&conversation_id=<conversation>",
    expected: { ...own(200), member: 200 },
  },
  { route: "GET /v1/messages", path: "/v1/messages?q=x", expected: all(200) },
  {
    route: "POST /v1/messages",
    path: "/v1/messages",
    body: { conversation_id: "<conversation>", text: "x" },
    expected: { ...own(201), member: 201 },
  },
  { route: "GET /v1/messages/:id", path: "/v1/messages/<message>", expected: { ...own(200), member: 200 } },
  {
    route: "GET /v1/messages/:id",
    path: "/v1/messages/<messageToBlocked>",
    expected: { ...own(200), blocked: 200 },
  },
  {
    route: "GET /v1/messages/:id",
    path: "/v1/messages/<messageFromBlocked>",
    expected: { ...all(404), blocked: 200 },
  },
  {
    route: "GET /v1/messages/:id/readers",
    path: "/v1/messages/<message>/readers",
    expected: { ...own(200), member: 200 },
  },
  {
    route: "GET /v1/messages/:id/readers",
    path: "/v1/messages/<messageToBlocked>/readers",
    expected: { ...own(200), blocked: 200 },
  },
  {
    route: "GET /v1/messages/:id/readers",
    path: "/v1/messages/<messageFromBlocked>/readers",
    expected: { ...all(404), blocked: 200 },
  },
  {
    route: "PUT /v1/messages/:id",
    path: "/v1/messages/<message>",
    body: { text: "y" },
    expected: { ...own(200), member: 403 },
  },
  {
    route: "PUT /v1/messages/:id",
    path: "/v1/messages/<messageFromBlocked>",
    body: { text: "y" },
    expected: { ...all(404), blocked: 200 },
  },
  ...["PUT", "DELETE"].flatMap((method) => [
    {
      route: `${method} /v1/messages/:id/reactions/:emoji`,
      path: "/v1/messages/<message>/reactions/x",
      expected: { ...own(204), member: 204 },
    },
    {
      route: `${method} /v1/messages/:id/reactions/:emoji`,
      path: "/v1/messages/<messageToBlocked>/reactions/x",
      expected: { ...own(204), blocked: 204 },
    },
    {
      route: `${method} /v1/messages/:id/reactions/:emoji`,
      path: "/v1/messages/<messageFromBlocked>/reactions/x",
      expected: { ...all(404), blocked: 204 },
    },
  ]),
  {
    route: "DELETE /v1/messages/:id",
    path: "/v1/messages/<message>?for=me",
    expected: { ...own(204), member: 204 },
  },
  {
    route: "DELETE /v1/messages/:id",
    path: "/v1/messages/<messageFromBlocked>?for=me",
    expected: { ...all(404), blocked: 204 },
  },
  {
    route: "DELETE /v1/messages/:id",
    path: "/v1/messages/<message>",
    expected: { ...own(204), member: 403 },
  },
  {
    route: "DELETE /v1/messages/:id",
    path: "/v1/messages/<messageFromBlocked>",
    expected: { ...all(404), blocked: 204 },
  },
  { route: "GET /v1/attachments", path: "/v1/attachments", expected: all(200) },
  {
    route: "GET /v1/attachments",
    path: "/v1/attachments?conversation_id=<conversation>",
    expected: { ...own(200), member: 200 },
  },
  {
    route: "GET /v1/attachments",
    path: "/v1/attachments?conversation_id=<conversationWithBlocked>",
    expected: { ...own(200), blocked: 200 },
  },
  {
    route: "GET /v1/attachments/:id",
    path: "/v1/attachments/<attachment>",
    expected: { ...own(200), member: 200 },
  },
  {
    route: "GET /v1/attachments/:id",
    path: "/v1/attachments/<attachment>?include=sender,unscanned",
    expected: { ...own(200), member: 200 },
  },
  {
    route: "GET /v1/attachments/:id",
    path: "/v1/attachments/<attachmentToBlocked>",
    expected: { ...own(200), blocked: 200 },
  },
  {
    route: "GET /v1/attachments/:id",
    path: "/v1/attachments/<attachmentFromBlocked>",
    expected: { ...all(404), blocked: 200 },
  },
  ...[
    { attachments: ["<attachment>"], expected: { ...own(201), member: 201 } },
    { attachments: ["<attachmentFromBlocked>"], expected: { ...all(404), blocked: 201 } },
    { attachments: ["<attachment>", "<attachmentFromBlocked>"], expected: all(404) },
    { attachments: ["<groupAttachment>"], expected: { ...all(201), stranger: 404, invited: 404 } },
  ].map(({ attachments: attachment_ids, expected }) => ({
    route: "POST /v1/archives",
    path: "/v1/archives",
    body: { attachment_ids },
    expected,
  })),
  {
    route: "POST /v1/archives",
    path: "/v1/archives",
    body: { conversation_id: "<conversation>" },
    expected: { ...own(201), member: 201 },
  },
  {
    route: "POST /v1/archives",
    path: "/v1/archives",
    body: { conversation_id: "<groupConversation>" },
    expected: { ...all(201), stranger: 404, invited: 404 },
  },
  {
    route: "GET /files/:id/:filename",
    path: "/files/<attachment>/x",
    expected: { ...own(200), member: 200 },
  },
  {
    route: "GET /files/:id/:filename",
    path: "/files/<attachmentFromBlocked>/x",
    expected: { ...all(404), blocked: 200 },
  },
  {
    route: "PUT /v1/attachments/:id",
    path: "/v1/attachments/<attachment>",
    body: { filename: "y" },
    expected: { ...own(200), member: 403 },
  },
  {
    route: "PUT /v1/attachments/:id",
    path: "/v1/attachments/<attachmentFromBlocked>",
    body: { filename: "y" },
    expected: { ...all(404), blocked: 200 },
  },
  {
    route: "DELETE /v1/attachments/:id",
    path: "/v1/attachments/<attachment>",
    expected: { ...own(204), member: 403 },
  },
  {
    route: "DELETE /v1/attachments/:id",
    path: "/v1/attachments/<attachmentFromBlocked>",
    expected: { ...all(404), blocked: 204 },
  },
  { route: "POST /v1/attachments", path: "/v1/attachments", file: true, expected: all(201) },
  {
    route: "POST /v1/attachments",
    path: "/v1/attachments?conversation_id=<conversation>",
    file: true,
    expected: { ...own(201), member: 201 },
  },
  {
    route: "POST /v1/attachments",
    path: "/v1/attachments?conversation_id=<conversationWithBlocked>",
    file: true,
    expected: { ...own(201), blocked: 201 },
  },
  {
    route: "POST /v1/attachments",
    path: "/v1/attachments?message_id=<message>",
    file: true,
    expected: own(201),
  },
  { route: "GET /v1/uploads", path: "/v1/uploads", expected: all(200) },
  {
    route: "POST /v1/uploads",
    path: "/v1/uploads?filename=x",
    headers: { "upload-complete": "?0" },
    expected: all(201),
  },
  {
    route: "POST /v1/uploads",
    path: "/v1/uploads?filename=x&conversation_id=<conversation>",
    headers: { "upload-complete": "?0" },
    expected: { ...own(201), member: 201 },
  },
  {
    route: "POST /v1/uploads",
    path: "/v1/uploads?filename=x&message_id=<message>",
    headers: { "upload-complete": "?0" },
    expected: own(201),
  },
  { route: "GET /v1/uploads/:id", path: "/v1/uploads/<upload>", expected: own(200) },
  {
    route: "PATCH /v1/uploads/:id",
    path: "/v1/uploads/<upload>",
    headers: {
      "upload-complete": "?0",
      "upload-offset": "0",
      "content-type": "application/partial-upload",
    },
    expected: own(204),
  },
  { route: "DELETE /v1/uploads/:id", path: "/v1/uploads/<upload>", expected: own(204) },
  { route: "GET /v1/events", path: "/v1/events", expected: all(200) },
  { route: "GET /v1/webhooks", path: "/v1/webhooks", expected: all(200) },
  { route: "GET /v1/webhooks", path: "/v1/webhooks?all=true", expected: all(403) },
  { route: "GET /v1/webhooks", path: "/v1/webhooks?user_id=<user>", expected: all(403) },
  { route: "POST /v1/webhooks", path: "/v1/webhooks", body: HOOK, expected: all(201) },
  {
    route: "POST /v1/webhooks",
    path: "/v1/webhooks",
    body: { ...HOOK, all_users: true },
    expected: all(403),
  },
  { route: "GET /v1/webhooks/:id", path: "/v1/webhooks/<webhook>", expected: own(200) },
  { route: "PUT /v1/webhooks/:id", path: "/v1/webhooks/<webhook>", body: HOOK, expected: own(200) },
  { route: "POST /v1/webhooks/:id/secret", path: "/v1/webhooks/<webhook>/secret", expected: own(200) },
  { route: "POST /v1/webhooks/:id/test", path: "/v1/webhooks/<webhook>/test", expected: own(200) },
  { route: "GET /v1/webhooks/:id/deliveries", path: "/v1/webhooks/<webhook>/deliveries", expected: own(200) },
  {
    route: "POST /v1/webhooks/:id/deliveries/:delivery_id/redeliver",
    path: "/v1/webhooks/<webhook>/deliveries/<delivery>/redeliver",
    expected: own(200),
  },
  { route: "DELETE /v1/webhooks/:id", path: "/v1/webhooks/<webhook>", expected: own(204) },
  { route: "GET /v1/push_subscriptions", path: "/v1/push_subscriptions", expected: all(200) },
  {
    route: "POST /v1/push_subscriptions",
    path: "/v1/push_subscriptions",
    body: DEVICE,
    // The owner already has it, which nobody else can tell.
    expected: { ...all(201), owner: 200 },
  },
  {
    route: "GET /v1/push_subscriptions/:id",
    path: "/v1/push_subscriptions/<subscription>",
    expected: own(200),
  },
  {
    route: "DELETE /v1/push_subscriptions/:id",
    path: "/v1/push_subscriptions/<subscription>",
    expected: own(204),
  },
  { route: "GET /v1/me", path: "/v1/me", expected: all(200) },
  { route: "PUT /v1/me", path: "/v1/me", body: { display_name: "x" }, expected: all(200) },
  // The file is no picture.
  { route: "PUT /v1/me/avatar", path: "/v1/me/avatar", file: true, expected: all(415) },
  { route: "DELETE /v1/me/avatar", path: "/v1/me/avatar", expected: all(204) },
  { route: "GET /v1/users", path: "/v1/users", expected: all(403) },
  { route: "POST /v1/users", path: "/v1/users", body: { username: "new" }, expected: all(403) },
  { route: "GET /v1/users/:id", path: "/v1/users/<user>", expected: all(403) },
  { route: "PUT /v1/users/:id", path: "/v1/users/<user>", body: { display_name: "x" }, expected: all(403) },
  { route: "PUT /v1/users/:id/avatar", path: "/v1/users/<user>/avatar", file: true, expected: all(403) },
  { route: "DELETE /v1/users/:id/avatar", path: "/v1/users/<user>/avatar", expected: all(403) },
  { route: "GET /v1/users/:id/attachments", path: "/v1/users/<user>/attachments", expected: all(403) },
  { route: "GET /v1/users/:id/groups", path: "/v1/users/<user>/groups", expected: all(403) },
  { route: "DELETE /v1/users/:id", path: "/v1/users/<user>", expected: all(403) },
  { route: "GET /v1/tokens", path: "/v1/tokens", expected: all(403) },
  { route: "POST /v1/tokens", path: "/v1/tokens", body: { user_id: "<user>" }, expected: all(403) },
  {
    route: "POST /v1/token_search",
    path: "/v1/token_search",
    body: { token: `parley_${"a".repeat(43)}` },
    expected: all(403),
  },
  { route: "GET /v1/tokens/:id", path: "/v1/tokens/<token>", expected: all(403) },
  { route: "DELETE /v1/tokens/:id", path: "/v1/tokens/<token>", expected: all(403) },
  { route: "GET /v1/audit", path: "/v1/audit", expected: all(403) },
  { route: "GET /metrics", path: "/metrics", expected: all(403) },
];
