import { findMessage } from "../../db/queries/messages/messages.ts";
import { listReaders as listReaderRows } from "../../db/queries/messages/readers.ts";
import { ParleyError } from "../../errors.ts";
import type { Caller } from "../node/caller.ts";
import type { DataAccess } from "../node/core.ts";
import { type Page, type PageEnvelope, toPage } from "../resource/page.ts";
import { findShownUsers } from "../resource/senders.ts";

/** Returns one page of the users who have read the message. Throws `message_not_found`. */
export async function listReaders(
  core: DataAccess,
  caller: Caller,
  messageId: string,
  page: Page,
): Promise<PageEnvelope> {
  const message = await findMessage(core.db, caller.userId, messageId);
  if (!message) throw new ParleyError("message_not_found");
  const rows = await listReaderRows(core.db, message, caller.userId, page);
  const users = await findShownUsers(
    core,
    rows.map(({ id }) => id),
  );
  // A user may have been erased since the first statement.
  const shown = rows.filter(({ id }) => users.has(id));
  return toPage(page, shown, ({ id }) => users.get(id)!);
}
