// Actions of others on the servers of sharing-two-worlds.ts: open ones on both, secret ones on one of them.

import { RequestUploads } from "../../../src/core/files/upload-once.ts";
import { getGroup, joinGroup, leaveGroup } from "../../../src/core/groups/groups.ts";
import { markRead, updateConversation } from "../../../src/core/messages/conversations.ts";
import { createMessage } from "../../../src/core/messages/message-send.ts";
import { deleteMessage, hideMessage, updateMessage } from "../../../src/core/messages/messages.ts";
import { addReaction } from "../../../src/core/messages/reactions.ts";
import type { Caller } from "../../../src/core/node/caller.ts";
import type { Core } from "../../../src/core/node/core.ts";
import { setBlock } from "../../../src/core/people/blocks.ts";
import { createContact, deleteContact } from "../../../src/core/people/contacts.ts";
import { updateProfile } from "../../../src/core/people/profiles.ts";
import { findMessage } from "../../../src/db/queries/messages/messages.ts";
import { ParleyError } from "../../../src/errors.ts";
import { OTHERS, type Twin, type Twins, toName } from "./sharing-two-worlds.ts";

export interface Act {
  who: number;
  target: number;
  spare: number;
}

type Doing = (core: Core, caller: Caller, twin: Twin, name: string) => Promise<unknown>;

/** Throws `contact_not_found` for a user who does not have Bob as a contact. */
function withContact(
  act: (core: Core, caller: Caller, ids: { id: string; conversation_id: string }) => Promise<unknown>,
): Doing {
  return async (core, caller, twin, name) => {
    const contact = await twin.contactOf(name);
    if (!contact) throw new ParleyError("contact_not_found");
    await act(core, caller, contact);
  };
}

const addBob: Doing = (core, caller, twin) =>
  createContact(core, caller, { username: twin.names.get("bob")!, phone_number: "+15550100" });

/** Hides one of the messages that the user may see. Throws `message_not_found`. */
async function hideOne(core: Core, caller: Caller, twins: Twins, number: number): Promise<void> {
  for (let tries = 1; tries < 6; tries++) {
    const message = twins.pick("msg", number + tries * 4);
    if (await findMessage(core.db, caller.userId, message)) return hideMessage(core, caller, message, null);
  }
  throw new ParleyError("message_not_found");
}

/** Returns an action that Bob must not notice. */
function secretOf(kind: string, twins: Twins, { target, spare }: Act): Doing {
  const message = twins.pick("msg", target);
  const conversation = twins.pick("cnv", spare);
  const group = twins.pick("grp", target);
  const setting = [{ muted_until: 4_000_000_000 }, { is_archived: true }, { is_pinned: true }][spare % 3]!;
  const secrets: Record<string, Doing> = {
    block: (core, caller, twin) => setBlock(core, caller, twin.names.get("bob")!, true),
    unblock: (core, caller, twin) => setBlock(core, caller, twin.names.get("bob")!, false),
    hide: (core, caller) => hideOne(core, caller, twins, target),
    leave: withContact((core, caller, { id }) => deleteContact(core, caller, id, null)),
    rejoin: addBob,
    settings: (core, caller) => updateConversation(core, caller, conversation, setting, null),
    settingsOfContact: withContact((core, caller, { conversation_id }) =>
      updateConversation(core, caller, conversation_id, setting, null),
    ),
    read: (core, caller) => markRead(core, caller, conversation, { message_id: message, private: true }),
    decline: async (core, caller, twin, name) => {
      // A departure is visible to all members.
      if (await twin.isMember(name, group)) throw new ParleyError("group_not_found");
      await leaveGroup(core, caller, group, null);
    },
  };
  return secrets[kind]!;
}

/** Returns an action that Bob sees. */
function openOf(kind: string, twins: Twins, { target, spare }: Act): Doing {
  const message = twins.pick("msg", target);
  const text = `from them ${spare % 5}`;
  const group = twins.pick("grp", target);
  const sendTo = async (core: Core, caller: Caller, conversation_id: string) => {
    if (spare % 2) return createMessage(core, caller, undefined, { conversation_id, text });
    await using uploads = await RequestUploads.begin(core, caller, undefined);
    const file = { filename: "theirs.txt", declaredType: undefined, maxBytes: undefined };
    await uploads.add().receive({ ...file, bytes: chunks(text), stripsMetadata: false });
    return createMessage(core, caller, undefined, { conversation_id }, uploads);
  };
  const open: Record<string, Doing> = {
    send: withContact((core, caller, { conversation_id }) => sendTo(core, caller, conversation_id)),
    sendToAny: (core, caller) => sendTo(core, caller, twins.pick("cnv", spare)),
    edit: (core, caller) => updateMessage(core, caller, message, { text: `edited ${text}` }, null),
    delete: (core, caller) => deleteMessage(core, caller, message, null),
    react: (core, caller) => addReaction(core, caller, message, "👍"),
    addBob,
    join: (core, caller) => joinGroup(core, caller, group),
    readInGroup: async (core, caller) => {
      const { conversation_id } = JSON.parse((await getGroup(core, caller, group)).json);
      await markRead(core, caller, conversation_id, { message_id: message });
    },
    updateProfile: (core, caller) =>
      updateProfile(core, caller, caller.userId, { display_name: toName(spare) }, null),
  };
  return open[kind]!;
}

async function* chunks(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

/** How often to draw each. */
export const SECRETS = {
  ...{ block: 6, unblock: 2, hide: 8, leave: 3, rejoin: 3 },
  ...{ settings: 2, settingsOfContact: 2, read: 3, decline: 5 },
};
export const OPEN = {
  ...{ send: 6, sendToAny: 3, edit: 6, delete: 2, react: 3, join: 4, readInGroup: 6 },
  updateProfile: 4,
};

/** Returns false if it was impossible. */
export function doSecretly(kind: string, twins: Twins, act: Act): Promise<boolean> {
  const name = OTHERS[act.who % OTHERS.length]!;
  const doing = secretOf(kind, twins, act);
  return twins.hidden.does((core, twin) => doing(core, twin.callers.get(name)!, twin, name));
}

/** Returns false if it was impossible. */
export function doOpenly(kind: string, twins: Twins, act: Act): Promise<boolean> {
  const name = OTHERS[act.who % OTHERS.length]!;
  const doing = openOf(kind, twins, act);
  return twins.bothDo((core, twin) => doing(core, twin.callers.get(name)!, twin, name));
}
