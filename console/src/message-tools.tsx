// What can be done with a message: the buttons that it shows while it has the mouse or the focus.
import { useState } from "preact/hooks";
import type { Attachment, Message } from "../../client/src/index.ts";
import { IconButton } from "./icons.tsx";

/** Always the same object, so that rows do not render again. */
export interface MessageActions {
  /** Of the conversation. In a group each sender has a colour. */
  kind: "contact" | "group" | "self";
  /** Asks for a reaction. */
  react: (message: Message) => void;
  /** Adds or removes a reaction of the user. */
  toggle: (message: Message, emoji: string) => void;
  reply: (message: Message) => void;
  edit: (message: Message) => void;
  remove: (message: Message) => void;
  /** Shows another message. */
  jump: (id: string) => void;
  open: (file: Attachment) => void;
  toName: (sender: Message["sender"]) => string;
}

/** Returns whether an element has the mouse or the focus, and the listeners that it needs for that. */
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
  return { hasAttention: isPointed || isFocused, listeners };
}

export function MessageTools(props: { message: Message; actions: MessageActions; own: boolean }) {
  const { message, actions, own } = props;
  const isText = message.type === "text";
  return (
    <span class="message-actions">
      {isText && <IconButton icon="reply" label="Reply" onClick={() => actions.reply(message)} />}
      <IconButton icon="react" label="React" onClick={() => actions.react(message)} />
      {isText && own && <IconButton icon="edit" label="Edit" onClick={() => actions.edit(message)} />}
      <IconButton icon="trash" label="Delete" danger onClick={() => actions.remove(message)} />
    </span>
  );
}
