// Who receives what the user writes, as far as the API reveals it: not whether a contact has blocked the user or
// left.
import type { Conversation, Group, Message } from "../../../packages/parley-client/src/index.ts";
import { useGroups } from "../groups/use-groups.ts";
import type { Progress } from "../messages/tick.tsx";
import { useSession } from "../session/session.ts";

interface Receivers {
  /** A warning before writing; empty if the others receive it. */
  note: string;
  /** Returns the progress of a message that is stored but unread; undefined if it is unknown. */
  toProgress: (message: Message) => Progress | undefined;
}

export function useReceivers(parts: {
  /** Also `self` for a contact with the user's own username. */
  kind: "contact" | "group" | "self";
  conversation: Conversation;
  /** The loaded messages. */
  items: readonly Message[];
  name: string;
  isBlocked: boolean;
}): Receivers {
  const { kind, conversation, items, name, isBlocked } = parts;
  const { me } = useSession();
  const group = useGroups().all.find(({ conversation_id }) => conversation_id === conversation.id);
  if (kind === "group") return toGroupReceivers(group);
  if (kind === "self") return { note: "", toProgress: () => undefined };
  if (conversation.contact_joined === false) {
    const note = `Waiting until ${name} adds you. They get your messages then.`;
    return { note, toProgress: () => "held" };
  }
  const last = items.findLast(({ sender }) => sender?.id !== me.id);
  if (last?.sender === null) {
    const note = `${name} was deleted. Nobody gets your messages, unless a new user takes the name.`;
    return { note, toProgress: ({ id }) => (id > last.id ? undefined : "sent") };
  }
  const note = `You have blocked ${name}. They get your messages, but you do not get theirs.`;
  return { note: isBlocked ? note : "", toProgress: () => "sent" };
}

function toGroupReceivers(group: Group | undefined): Receivers {
  if (group?.member_count !== 1) return { note: "", toProgress: () => "sent" };
  const see = group.history === "all" ? "see" : "don't see";
  const note = `You are the only member. Members who join later ${see} what you write now.`;
  return { note, toProgress: () => undefined };
}
