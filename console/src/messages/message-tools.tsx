// The buttons of a message, shown while it has the mouse or the focus.
import { useState } from "preact/hooks";
import type { Attachment, Message } from "../../../packages/parley-client/src/index.ts";
import type { Person, User } from "../people/known-people.ts";
import { type Session, useSession } from "../session/session.ts";
import { IconButton, type IconName } from "../ui/icons.tsx";
import { Menu, MenuItem } from "../ui/menu.tsx";
import { useMedia } from "../ui/use-media.ts";

/** Always the same object, to avoid rendering rows again. */
export interface MessageActions {
  /** The kind of conversation. In a group, each sender has a colour. */
  kind: "contact" | "group" | "self";
  /** Opens the choice of a reaction. */
  react: (message: Message) => void;
  /** Adds or removes a reaction of the user. */
  toggle: (message: Message, emoji: string) => void;
  /** Lists who has read a message. */
  showReaders: (message: Message) => void;
  copy: (message: Message) => void;
  reply: (message: Message) => void;
  edit: (message: Message) => void;
  remove: (message: Message) => void;
  /** Scrolls to another message. */
  jump: (id: string) => void;
  open: (file: Attachment) => void;
  toPerson: (sender: Message["sender"]) => Person;
  toName: (sender: Message["sender"]) => string;
  /** Shows who somebody is. */
  show: (user: User) => void;
}

/** Returns whether an element has the mouse or the focus, and the event listeners to attach. */
export function useAttention() {
  const [isPointed, setPointed] = useState(false);
  const [isFocused, setFocused] = useState(false);
  const listeners = {
    onPointerEnter: () => setPointed(true),
    onPointerLeave: () => setPointed(false),
    onFocusIn: () => setFocused(true),
    onFocusOut: ({ currentTarget, relatedTarget }: { currentTarget: Element; relatedTarget: unknown }) =>
      setFocused(currentTarget.contains(relatedTarget as Node | null)),
  };
  return { hasAttention: isPointed || isFocused, isFocused, listeners };
}

type MessageChoice = readonly [IconName, string, (message: Message) => void];

/** Returns what the user can do with a message. */
export function listChoices(
  message: Message,
  actions: MessageActions,
  { me, can }: Pick<Session, "me" | "can">,
): MessageChoice[] {
  const isText = message.type === "text";
  const isOwn = message.sender?.id === me.id;
  const mayWrite = can("messages:write");
  const all: [...MessageChoice, boolean][] = [
    ["reply", "Reply", actions.reply, mayWrite && isText],
    ["react", "React", actions.react, mayWrite],
    ["copy", "Copy text", actions.copy, message.text !== null],
    ["checks", "Read by", actions.showReaders, isText && isOwn && actions.kind === "group"],
    ["edit", "Edit", actions.edit, mayWrite && isText && isOwn],
    ["trash", "Delete", actions.remove, mayWrite],
  ];
  return all.filter(([, , , isPossible]) => isPossible).map(([icon, label, act]) => [icon, label, act]);
}

/** The same as items of a menu. */
export function MessageItems({ message, choices }: { message: Message; choices: readonly MessageChoice[] }) {
  return choices.map(([icon, label, act]) => (
    <MenuItem key={icon} icon={icon} danger={icon === "trash"} onSelect={() => act(message)}>
      {label}
    </MenuItem>
  ));
}

/** Buttons while the message has the mouse or the focus; on touch screens and in narrow windows, a menu. */
export function MessageTools(props: {
  message: Message;
  actions: MessageActions;
  hasAttention: boolean;
  isFocused: boolean;
}) {
  const { message, actions } = props;
  const choices = listChoices(message, actions, useSession());
  // As in messages.css, which leaves room for the one or the others.
  if (useMedia("(hover: none), (width < 760px)")) {
    if (choices.length === 0) return null;
    return (
      <span class="message-actions">
        <Menu label="Message actions" isInList isReachable={props.isFocused}>
          <MessageItems message={message} choices={choices} />
        </Menu>
      </span>
    );
  }
  // The context menu has the rest.
  const buttons = choices.filter(([icon]) => icon !== "copy");
  if (!props.hasAttention || buttons.length === 0) return null;
  return (
    <span class="message-actions">
      {buttons.map(([icon, label, act]) => (
        <IconButton
          key={icon}
          icon={icon}
          label={label}
          danger={icon === "trash"}
          onClick={() => act(message)}
        />
      ))}
    </span>
  );
}
