import { type BlockRow, listBlockRows } from "../../db/queries/people/blocks.ts";
import { toSeconds } from "../../util/clock.ts";
import { usernameKey } from "../../util/text.ts";
import type { Caller } from "../node/caller.ts";
import type { DataAccess } from "../node/core.ts";
import { writeActed } from "../record/audit-trail.ts";
import { NEWEST, type Page, type PageEnvelope, toPage } from "../resource/page.ts";
import { described, resource, type TypeOf, text, time } from "../resource/schema.ts";

export const blockResource = resource("Block", {
  username: described(text, "As it was written when it was blocked."),
  created_at: time,
});

/** Returns one page of the caller's blocks, in the order of their usernames. */
export async function listBlocks(core: DataAccess, caller: Caller, page: Page): Promise<PageEnvelope> {
  const cursor = page.cursor === NEWEST ? "" : page.cursor.slice(1);
  const rows = await listBlockRows(core.db, caller.userId, { ...page, cursor });
  return toPage(page, rows, toJson, { cursorOf: ({ username }) => encodeURIComponent(username) });
}

/** Blocks or unblocks the username of a contact, a stranger or nobody. What a blocked user sends does not reach the caller. */
export async function setBlock(
  core: DataAccess,
  caller: Caller,
  username: string,
  blocked: boolean,
): Promise<void> {
  const now = core.clock();
  const action = blocked ? "block.created" : "block.deleted";
  const recorded = { action, objectId: caller.userId, details: { username } } as const;
  await writeActed(core, caller, recorded, "setBlock", {
    ownerId: caller.userId,
    usernameKey: usernameKey(username),
    username,
    blockedAt: blocked ? now : null,
    now,
  });
}

function toJson({ username, created_at }: BlockRow): string {
  const block: TypeOf<typeof blockResource> = { username, created_at: toSeconds(created_at) };
  return JSON.stringify(block);
}
