// The buttons of a message, shown while it has the mouse or the focus.
import { useState } from "preact/hooks";
import type { Attachment, Message } from "../../../packages/parley-client/src/index.ts";
import type { Person, User } from "../people/known-people.ts";
import { useSession } from "../session/session.ts";
import { IconButton, type IconName } from "../ui/icons.tsx";
import { Menu, MenuItem } from "../ui/menu.tsx";

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

/** Whether the device has no pointer that hovers. */
function isTouched(): boolean {
  return matchMedia("(hover: none)").matches;
}

/** Buttons while the message has the mouse or the focus; on touch screens, a menu that is always shown. */
export function MessageTools(props: {
  message: Message;
  actions: MessageActions;
  own: boolean;
  hasAttention: boolean;
  isFocused: boolean;
}) {
  const { message, actions, own } = props;
  const { can } = useSession();
  const isText = message.type === "text";
  const mayWrite = can("messages:write");
  const all: [IconName, string, (message: Message) => void, boolean][] = [
    ["reply", "Reply", actions.reply, mayWrite && isText],
    ["react", "React", actions.react, mayWrite],
    ["checks", "Read by", actions.showReaders, isText && own && actions.kind === "group"],
    ["edit", "Edit", actions.edit, mayWrite && isText && own],
    ["trash", "Delete", actions.remove, mayWrite],
  ];
  const choices = all.filter(([, , , isPossible]) => isPossible);
  if (choices.length === 0) return null;
  if (isTouched()) {
    return (
      <span class="message-actions">
        <Menu label="Message actions" isInList isReachable={props.isFocused}>
          {choices.map(([icon, label, act]) => (
            <MenuItem key={icon} icon={icon} danger={icon === "trash"} onSelect={() => act(message)}>
              {label}
            </MenuItem>
          ))}
        </Menu>
      </span>
    );
  }
  if (!props.hasAttention) return null;
  return (
    <span class="message-actions">
      {choices.map(([icon, label, act]) => (
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
