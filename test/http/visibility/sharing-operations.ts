// The operations of a world of sharing-world.ts, and the comparison of everything that its users see.
import fc from "fast-check";
import type { View } from "./group-model.ts";
import {
  changeMember,
  checkGroups,
  checkMembers,
  createGroup,
  enterEvents,
  enterMessages,
  inviteMember,
  joinGroup,
  leaveGroup,
  readGroup,
  updateGroup,
} from "./group-operations.ts";
import { addMembers, connect } from "./sharing-acting.ts";
import { changeBlocks, changeContact, checkContacts, createContact } from "./sharing-contacts.ts";
import { checkEvents } from "./sharing-events.ts";
import {
  changeFile,
  checkFiles,
  checkStorage,
  openLinks,
  readFile,
  upload,
  uploadToMessage,
} from "./sharing-files.ts";
import { checkInbox, markRead, readConversation, updateSettings } from "./sharing-inbox.ts";
import {
  checkMessages,
  deleteMessage,
  editMessage,
  hideMessage,
  readMessage,
  sendAgain,
  sendMessage,
} from "./sharing-messages.ts";
import { updateProfile } from "./sharing-profiles.ts";
import { changeReaction } from "./sharing-reactions.ts";
import { checkSearch } from "./sharing-search.ts";
import { checkSnapshot } from "./sharing-snapshot.ts";
import type { Group, Message, User } from "./sharing-types.ts";
import { oneOf, type World } from "./sharing-world.ts";

/** How often to draw each. */
export const WEIGHTS = {
  addContact: 16,
  removeContact: 4,
  updateContact: 1,
  readContact: 1,
  listContacts: 1,
  block: 6,
  unblock: 1,
  blockName: 2,
  unblockName: 1,
  send: 16,
  sendAgain: 2,
  edit: 7,
  deleteMessage: 3,
  hideMessage: 4,
  react: 8,
  unreact: 4,
  readMessage: 2,
  listMessages: 2,
  upload: 5,
  uploadToMessage: 3,
  rename: 3,
  deleteFile: 3,
  readFile: 1,
  listFiles: 2,
  openLinks: 3,
  download: 1,
  readMe: 1,
  updateProfile: 3,
  markRead: 6,
  updateSettings: 3,
  listConversations: 2,
  eraseUser: 2,
  createGroup: 0,
  inviteMember: 0,
  joinGroup: 0,
  leaveGroup: 0,
  updateGroup: 0,
  setRole: 0,
  removeMember: 0,
  readGroup: 0,
  listGroups: 0,
  listMembers: 0,
  connect: 0,
  addMembers: 0,
};
type Kind = keyof typeof WEIGHTS;

/** Numbers select among what exists at the time of the operation, so any part of a sequence is a valid sequence. */
export interface Operation {
  kind: Kind;
  who: number;
  target: number;
  spare: number;
}

export function operationsOf(users: number, weights: Record<Kind, number>): fc.Arbitrary<Operation> {
  return fc.record({
    kind: fc.oneof(
      ...Object.entries(weights).map(([kind, weight]) => ({ weight, arbitrary: fc.constant(kind as Kind) })),
    ),
    who: fc.nat(users - 1),
    target: fc.nat(99),
    spare: fc.nat(999),
  });
}

/** After any operation, users who gain, lose or change a visible invitation get an event. */
export async function perform(world: World, operation: Operation): Promise<void> {
  const { groups, model } = world;
  const seen = () =>
    new Map(
      [...model.users.values()].map((user) => [
        user,
        new Map(
          groups
            .live()
            .map((group) => [group, [groups.view(user, group), groups.inviterOf(user, group)] as const]),
        ),
      ]),
    );
  const before = seen();
  await performOne(world, operation);
  for (const [user, views] of seen()) {
    for (const group of model.groups) {
      const [was, by] = before.get(user)?.get(group) ?? [];
      const [is, nowBy] = views.get(group) ?? [];
      if (is === "invited" && !was) user.events.push(`group.created ${group.id}`);
      if (was === "invited" && !is) user.events.push(`group.deleted ${group.id}`);
      if (was !== "invited" || is !== "invited" || by === nowBy) continue;
      user.events.push(`group.updated ${group.id}`);
      groups.met.handedOver++;
    }
  }
}

async function performOne(world: World, operation: Operation): Promise<void> {
  const { kind, who, target, spare } = operation;
  const user = actorOf(world, operation);
  const name = world.names[who]!;
  if (kind === "openLinks") return openLinks(world, oneOf(world.model.files, target));
  if (kind === "eraseUser") return user && eraseUser(world, user);
  if (user) return performAs(world, user, kind, target, spare);
  const erased = world.model.everyone.findLast((each) => each.name === name)!;
  await world.refused(erased, "GET", "/v1/me", 401, "invalid_token");
  // Another user of that name appears, now or a few operations later.
  if (spare % 2) await world.make(name);
}

async function eraseUser(world: World, user: User): Promise<void> {
  await world.erase(user);
  for (const group of world.groups.live()) await enterMessages(world, group);
  enterEvents(world);
}

/** Who can do an operation in a group. */
const ABLE: Partial<Record<Kind, View>> = {
  ...{ joinGroup: "invited", inviteMember: "admin", setRole: "admin", removeMember: "admin" },
  addMembers: "admin",
};

/** Actions open to everybody who sees a message. */
const BY_ALL: readonly Kind[] = ["readMessage", "readFile", "download", "react", "unreact", "hideMessage"];

/** Changes of messages and of their files. */
const CHANGES: readonly Kind[] = ["edit", "uploadToMessage", "rename"];

/** Mostly picks a user who may do the operation, and often one whose change makes another user lose a message. */
function actorOf({ groups, model, names }: World, { kind, who, spare, target }: Operation): User | undefined {
  const user = model.users.get(names[who]!);
  const wanted = ABLE[kind];
  if (kind === "blockName" && spare % 2) {
    const invited = [...model.users.values()].filter((each) => groups.inviterAmongOthers(each).length > 0);
    return oneOf(invited, target) ?? user;
  }
  if (CHANGES.includes(kind) && spare % 3 > 0) {
    const unwanted = model.messages.filter(isUnwanted);
    return oneOf(unwanted, target)?.sender ?? user;
  }
  if (!wanted || !user || spare % 8 === 0) return user;
  const able = [...model.users.values()].filter((each) =>
    groups.live().some((group) => groups.view(each, group) === wanted),
  );
  const best =
    kind === "inviteMember" && spare % 2 ? able.filter((each) => groups.groupsToInviteInto(each)[0]) : [];
  return oneOf(best.length > 0 ? best : able, target) ?? user;
}

function performAs(world: World, user: User, kind: Kind, target: number, spare: number): Promise<void> {
  const { model } = world;
  const contact = pick([...user.contacts.values()], model.contacts, target, spare);
  const conversations = model.conversationsOf(user);
  const ofGroups = conversations.filter(({ group }) => group);
  const own = ofGroups.length > 0 && spare % 3 > 0 ? ofGroups : conversations;
  const conversation = pick(own, model.conversations, target, spare);
  const name = otherName(world, user, kind, target);
  if (kind === "addContact") return createContact(world, user, name, spare);
  if (kind === "connect") return connect(world, user, name, spare);
  if (kind === "listContacts") return checkContacts(world, user, [undefined, true, false][target % 3]);
  if (kind === "blockName" || kind === "unblockName") return changeBlocks(world, user, name, kind);
  if (kind === "send") return sendMessage(world, user, conversation, spare);
  if (kind === "upload") return upload(world, user, conversation, spare);
  if (kind === "listMessages") return checkMessages(world, user, conversation ?? user.notes);
  if (kind === "listFiles") return checkFiles(world, user, target % 3 ? conversation : undefined);
  if (kind === "markRead") return markRead(world, user, conversation, spare);
  if (kind === "updateSettings") return updateSettings(world, user, conversation, spare);
  if (kind === "listConversations") return checkInbox(world, user);
  if (kind === "readMe") return checkStorage(world, user);
  if (kind === "updateProfile") return updateProfile(world, user, spare);
  return (
    performInGroup(world, user, kind, target, spare) ??
    performOn(world, user, kind, target, spare) ??
    changeContact(world, user, contact, kind, spare)
  );
}

function performInGroup(
  world: World,
  user: User,
  kind: Kind,
  target: number,
  spare: number,
): Promise<void> | undefined {
  const { groups, model } = world;
  const seen = groups.seenBy(user);
  const able = seen.filter((each) => groups.view(user, each) === ABLE[kind]);
  const best = kind === "inviteMember" && spare % 2 ? groups.groupsToInviteInto(user) : [];
  const own = [best, able, seen].find(({ length }) => length > 0) ?? [];
  const group = own.length > 0 && spare % 9 > 0 ? oneOf(own, target) : oneOf(model.groups, spare);
  if (kind === "createGroup") return createGroup(world, user, spare);
  if (kind === "inviteMember") return inviteMember(world, user, group, spare);
  if (kind === "addMembers") return addMembers(world, user, group, spare);
  if (kind === "joinGroup") return joinWithBlock(world, user, group, spare);
  if (kind === "leaveGroup") return leaveGroup(world, user, group);
  if (kind === "updateGroup") return updateGroup(world, user, group, spare);
  if (kind === "setRole" || kind === "removeMember") return changeMember(world, user, group, kind, spare);
  if (kind === "readGroup") return readGroup(world, user, group);
  if (kind === "listGroups") return checkGroups(world, user);
  if (kind === "listMembers") return checkMembers(world, user, group);
  return undefined;
}

/** Often joins without the messages of a blocked sender. */
async function joinWithBlock(world: World, user: User, group: Group | undefined, spare: number) {
  const senders = group && world.groups.view(user, group) ? world.groups.sendersBefore(user, group) : [];
  if (senders.length > 0 && spare % 2) await changeBlocks(world, user, oneOf(senders, spare)!, "blockName");
  await joinGroup(world, user, group);
}

function performOn(
  world: World,
  user: User,
  kind: Kind,
  target: number,
  spare: number,
): Promise<void> | undefined {
  const { model } = world;
  const mayPick = ({ sender, seenBy }: Message) =>
    seenBy.has(user) && (BY_ALL.includes(kind) || sender === user);
  const ownFiles = model.filesSeenBy(user).filter(({ message }) => mayPick(message));
  const file = pick(ownFiles, model.files, target, spare);
  const seen = model.messages.filter(mayPick).reverse();
  const unwanted = CHANGES.includes(kind) && spare % 3 > 0 ? seen.filter(isUnwanted) : [];
  const message = pick(unwanted.length > 0 ? unwanted : seen, model.messages, target, spare);
  if (kind === "uploadToMessage") return uploadToMessage(world, user, message, spare);
  if (kind === "rename" || kind === "deleteFile") return changeFile(world, user, file, kind, spare);
  if (kind === "readFile" || kind === "download") return readFile(world, user, file, kind);
  if (kind === "edit") return editMessage(world, user, message, spare);
  if (kind === "deleteMessage") return deleteMessage(world, user, message);
  if (kind === "hideMessage") return hideMessage(world, user, message);
  if (kind === "react" || kind === "unreact") return changeReaction(world, user, message, kind, spare);
  if (kind === "readMessage") return readMessage(world, user, message);
  if (kind === "sendAgain") return sendAgain(world, user, target);
  return undefined;
}

/** Reports whether somebody who sees the message has blocked its sender. */
function isUnwanted({ sender, seenBy }: Message): boolean {
  return seenBy.has(sender) && [...seenBy].some((user) => user.blocks.has(sender.name));
}

/** Returns the names of users whose messages the user sees. */
function sendersTo({ model }: World, user: User): string[] {
  const seen = model.messages.filter(
    ({ type, sender, seenBy }) => type === "text" && sender !== user && seenBy.has(user),
  );
  return seen.map(({ sender }) => sender.name);
}

/** Often returns a name that makes a difference, now and then the user's own. */
function otherName(world: World, user: User, kind: Kind, target: number): string {
  const { names, model, groups } = world;
  const others = names.filter((name) => name !== user.name);
  const telling = {
    addContact: others.filter((name) => !user.contacts.has(name) && model.contactOfPeer(user, name)),
    blockName: [groups.inviterAmongOthers(user), sendersTo(world, user)].find(({ length }) => length > 0),
    unblockName: others.filter((name) => user.blocks.has(name)),
  }[kind as string];
  if (telling && telling.length > 0 && target % 3 > 0) return oneOf(telling, Math.floor(target / 3))!;
  return target % 20 === 0 ? user.name : oneOf(others, target)!;
}

/** Compares all lists of each user, and the events since the last time. */
export async function checkLists(world: World): Promise<void> {
  await checkEvents(world);
  for (const user of world.model.users.values()) {
    await checkContacts(world, user, undefined);
    await checkFiles(world, user);
    for (const conversation of world.model.conversationsOf(user))
      await checkMessages(world, user, conversation);
    await checkSearch(world, user);
    await checkInbox(world, user);
    await checkSnapshot(world, user);
    await checkStorage(world, user);
    await checkGroups(world, user);
    for (const group of world.groups.seenBy(user)) await checkMembers(world, user, group);
  }
}

/** Requests everything that ever existed as each user, in each way. */
export async function checkEach(world: World): Promise<void> {
  const { model } = world;
  for (const user of model.users.values()) {
    for (const active of [true, false]) await checkContacts(world, user, active);
    for (const conversation of model.conversations) {
      await checkFiles(world, user, conversation);
      await readConversation(world, user, conversation);
      if (!conversation.seats.has(user)) await checkMessages(world, user, conversation);
    }
    for (const group of model.groups) {
      await readGroup(world, user, group);
      await checkMembers(world, user, group);
    }
    for (const message of model.messages) await readMessage(world, user, message);
    for (const file of model.files) {
      await readFile(world, user, file, "readFile");
      await readFile(world, user, file, "download");
    }
  }
}

/** Mostly picks one of the user's own, now and then any that ever existed. */
function pick<T>(own: readonly T[], all: readonly T[], target: number, spare: number): T | undefined {
  const at = target % (own.length + 1);
  return at < own.length ? own[at] : oneOf(all, spare);
}
