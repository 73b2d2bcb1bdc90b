import assert from "node:assert/strict";
import { test } from "node:test";
import { nearestPath } from "../../src/http/protocol/nearest-path.ts";

const PATHS = [
  "/v1/me",
  "/v1/contacts",
  "/v1/contacts/{contact_id}",
  "/v1/contacts/{contact_id}/block",
  "/v1/conversations/{conversation_id}",
  "/v1/conversations/{conversation_id}/read",
  "/v1/messages/{message_id}",
  "/v1/messages/{message_id}/reactions/{emoji}",
];

const NEAREST: [asked: string, nearest: string | undefined][] = [
  ["/v1/contact", "/v1/contacts"],
  ["/v1/contacts/", "/v1/contacts"],
  ["/v1//contacts", "/v1/contacts"],
  ["/v1/Contacts", "/v1/contacts"],
  ["/v1/contacs/con_1", "/v1/contacts/{contact_id}"],
  ["/v1/contacts/con_1/blocks", "/v1/contacts/{contact_id}/block"],
  ["/v1/contacts/con_1/block/x", "/v1/contacts/{contact_id}/block"],
  ["/v1/conversation/cnv_1/reed", "/v1/conversations/{conversation_id}/read"],
  ["/v1/messages/msg_1/reaction", "/v1/messages/{message_id}/reactions/{emoji}"],
  ["/v1/my", "/v1/me"],
  ["/v1/chats", undefined],
  ["/v1/contacts/a/b/c/d", undefined],
  ["", undefined],
];

for (const [asked, nearest] of NEAREST) {
  test(`the path nearest to ${asked} is ${nearest}`, () => assert.equal(nearestPath(asked, PATHS), nearest));
}

test("a long path has no nearest one", () => {
  for (const text of ["/a", "/", "contacts", "/v1/contacts"])
    assert.equal(nearestPath(`/v1/x${text.repeat(8192 / text.length)}`, PATHS), undefined);
});
