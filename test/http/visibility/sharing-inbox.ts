// The inbox in a world of sharing-world.ts: settings, read positions and counts.
import assert from "node:assert/strict";
import { checkMessage } from "./sharing-messages.ts";
import type { Conversation, User } from "./sharing-types.ts";
import { oneOf, type Page, type Shown, UNKNOWN, type World } from "./sharing-world.ts";

export async function markRead(
  world: World,
  user: User,
  conversation: Conversation | undefined,
  spare: number,
): Promise<void> {
  const message = oneOf(conversation?.messages ?? [], spare);
  const path = `/v1/conversations/${conversation?.id ?? `cnv_${UNKNOWN}`}/read`;
  const body = { message_id: message?.id ?? `msg_7${UNKNOWN.slice(1)}`, private: spare % 3 === 0 };
  const seat = conversation?.seats.get(user);
  if (!seat) {
    await world.refused(user, "PUT", path, 404, "conversation_not_found", body);
  } else if (!message || conversation!.messages.indexOf(message) < seat.since) {
    await world.refused(user, "PUT", path, 404, "message_not_found", body);
  } else {
    world.model.read(user, message, body.private);
    await world.ask(user, "PUT", path, 204, body);
  }
}

export async function updateSettings(
  world: World,
  user: User,
  conversation: Conversation | undefined,
  spare: number,
): Promise<void> {
  const path = `/v1/conversations/${conversation?.id ?? `cnv_${UNKNOWN}`}`;
  const isOn = spare % 2 === 0;
  const now = Math.floor(world.clock.now / 1000);
  // Some mutes end within the run.
  const mutedUntil = spare % 4 === 3 ? null : now + (spare % 300);
  const body = [{ is_pinned: isOn }, { is_archived: isOn }, { muted_until: mutedUntil }][spare % 3]!;
  const seat = conversation?.seats.get(user);
  if (!seat) {
    await world.refused(user, "PUT", path, 404, "conversation_not_found", body);
    return;
  }
  const wanted = {
    pinned: body.is_pinned ?? seat.pinned,
    archived: body.is_archived ?? seat.archived,
    mutedUntil: body.muted_until === undefined ? seat.mutedUntil : body.muted_until,
  };
  const isSame =
    wanted.pinned === seat.pinned &&
    wanted.archived === seat.archived &&
    wanted.mutedUntil === seat.mutedUntil;
  Object.assign(seat, wanted);
  if (!isSame) user.events.push(`conversation.updated ${conversation!.id}`);
  checkConversation(world, user, conversation!, (await world.ask(user, "PUT", path, 200, body)) as Shown);
}

export async function readConversation(world: World, user: User, conversation: Conversation): Promise<void> {
  const path = `/v1/conversations/${conversation.id}`;
  if (!conversation.seats.has(user)) await world.refused(user, "GET", path, 404, "conversation_not_found");
  else checkConversation(world, user, conversation, (await world.ask(user, "GET", path, 200)) as Shown);
}

/** Checks the whole inbox, by pages in both directions, and with each filter. */
export async function checkInbox(world: World, user: User): Promise<void> {
  const { model } = world;
  const inbox = model.inboxOf(user);
  const seat = (each: Conversation) => each.seats.get(user)!;
  const unread = (each: Conversation) => model.unread(user, each);
  const down = await walk(world, user, "limit=2", "starting_after");
  assert.deepEqual(
    down.map(({ id }) => id),
    inbox.map(({ id }) => id),
    `inbox of ${user.name}`,
  );
  for (const [i, each] of inbox.entries()) checkConversation(world, user, each, down[i]!);
  assert.deepEqual(await walk(world, user, "limit=2", "ending_before"), down);
  const filters: [string, (each: Conversation) => boolean][] = [
    ["kind=self", (each) => each === user.notes],
    ["kind=contact", (each) => each !== user.notes && !each.group],
    ["kind=group", (each) => each.group !== null],
    ["unread=true", (each) => unread(each) > 0],
    ["pinned=true", (each) => seat(each).pinned],
    ["archived=false", (each) => !seat(each).archived],
    ["archived=true", (each) => seat(each).archived],
  ];
  for (const [query, isWanted] of filters) {
    const found = await walk(world, user, query, "starting_after");
    assert.deepEqual(
      found.map(({ id }) => id),
      inbox.filter(isWanted).map(({ id }) => id),
      query,
    );
  }
  const isLoud = ({ mutedUntil }: { mutedUntil: number | null }) =>
    mutedUntil === null || mutedUntil <= Math.floor(world.clock.now / 1000);
  const me = (await world.ask(user, "GET", "/v1/me", 200)) as Shown;
  const counted = inbox.filter((each) => unread(each) > 0 && isLoud(seat(each)));
  assert.equal(me.unread_conversations, counted.length, `badge of ${user.name}`);
}

/** Returns all pages, most recent activity first. */
async function walk(world: World, user: User, query: string, cursor: string): Promise<Shown[]> {
  const found: Shown[] = [];
  const isUp = cursor === "ending_before";
  for (let at = isUp ? "0".repeat(26) : ""; ; ) {
    const path = `/v1/conversations?${query}${at && `&${cursor}=${at}`}`;
    const page = (await world.ask(user, "GET", path, 200)) as Page;
    if (isUp) found.unshift(...page.data);
    else found.push(...page.data);
    if (!page.has_more) return found;
    at = page.data.at(isUp ? 0 : -1)!.position as string;
  }
}

function checkConversation(world: World, user: User, conversation: Conversation, shown: Shown): void {
  const { model } = world;
  const { last_message: lastMessage, position, ...rest } = shown;
  const seat = conversation.seats.get(user)!;
  const { group } = conversation;
  const contact = model.contactOf(user, conversation);
  const peer = contact && model.openPeer(contact)?.owner;
  const disclosed = peer && conversation.seats.get(peer)!.disclosed;
  // Read positions before the user joined are not shown.
  const isKnown = disclosed && conversation.messages.indexOf(disclosed) >= seat.since;
  assert.deepEqual(rest, {
    id: conversation.id,
    kind: group ? "group" : contact ? "contact" : "self",
    contact_id: contact?.id ?? null,
    group_id: group?.id ?? null,
    name: group
      ? group.name
      : contact
        ? (contact.displayName ?? peer?.displayName ?? contact.username)
        : null,
    avatar_url: group?.avatarUrl ?? null,
    unread_count: model.unread(user, conversation),
    unread_mention_count: model.unreadMentions(user, conversation),
    last_read_id: seat.read?.id ?? null,
    contact_read_id: isKnown ? disclosed.id : null,
    contact_joined: contact ? model.hasJoined(contact) : null,
    created_at: Math.floor(seat.joinedAt / 1000),
    is_pinned: seat.pinned,
    is_archived: seat.archived,
    muted_until: seat.mutedUntil,
  });
  const last = model.messagesSeenBy(user, conversation).find(({ type }) => type === "text");
  if (last) checkMessage(world, user, last, lastMessage as Shown);
  else assert.equal(lastMessage, null);
  assert.equal(position === null, seat.movedAt === null);
}
