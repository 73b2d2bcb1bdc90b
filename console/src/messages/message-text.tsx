// The text of a message with its format. Addresses open elsewhere, without knowing this page.
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { Message } from "../../../packages/parley-client/src/index.ts";
import { type Session, useSession } from "../session/session.ts";
import { isEmoji, parseText, type TextPart } from "./text.ts";

export function MessageText(props: {
  message: Message & { text: string };
  /** Whether Tab reaches the links. */
  isReachable: boolean;
}) {
  const { message, isReachable } = props;
  const { text } = message;
  const names = findNames(message, useSession());
  const parts = useMemo(() => parseText(text, names), [text, names.join("\n")]);
  return (
    <div class={isEmoji(text) ? "message-text emoji" : "message-text"}>
      {toElements(parts, isReachable ? 0 : -1)}
    </div>
  );
}

/** Returns the usernames of those whom a message mentions, as far as they are known. */
function findNames({ mentions, conversation_id }: Message, { people }: Session): string[] {
  return mentions.flatMap((id) => people.findUser(id, conversation_id)?.username ?? []);
}

function toElements(parts: readonly TextPart[], tabIndex: number): ComponentChildren {
  return parts.map((part) => {
    if (typeof part === "string") return part;
    if (part.kind === "mention") return <span class="mention">{part.text}</span>;
    if (part.kind === "a") {
      const { href, host, text } = part;
      return (
        <a
          href={href}
          title={href}
          target="_blank"
          rel="noopener noreferrer nofollow"
          tabIndex={tabIndex}
          data-host={host || undefined}
        >
          {text}
        </a>
      );
    }
    const Tag = part.kind;
    return <Tag>{"parts" in part ? toElements(part.parts, tabIndex) : part.text}</Tag>;
  });
}
