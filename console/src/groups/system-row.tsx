import type { Message } from "../../../packages/parley-client/src/index.ts";
import { type MessageActions, MessageTools, useAttention } from "../messages/message-tools.tsx";
import { Reactions } from "../messages/reactions.tsx";
import { usePeople } from "../people/people.tsx";
import { useSession } from "../session/session.ts";
import { formatClock, formatFullTime } from "../ui/format.ts";
import { toSystemText } from "./texts.ts";

/** An event in the group, as a quiet line between the messages. */
export function SystemRow({ message, actions }: { message: Message; actions: MessageActions }) {
  const { me } = useSession();
  const people = usePeople();
  const { listeners, ...attention } = useAttention();
  return (
    <li id={message.id} class="message system muted small" tabIndex={-1} {...listeners}>
      {toSystemText(message, me.id, people)} ·{" "}
      <time class="message-time" title={formatFullTime(message.created_at)}>
        {formatClock(message.created_at)}
      </time>
      <Reactions message={message} actions={actions} isReachable={attention.isFocused} />
      <MessageTools message={message} actions={actions} {...attention} />
    </li>
  );
}
