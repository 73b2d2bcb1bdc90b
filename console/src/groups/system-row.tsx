import type { Message } from "../../../client/src/index.ts";
import { formatClock, formatFullTime } from "../format.ts";
import { useSession } from "../session.ts";
import { toSystemText } from "./texts.ts";

/** What a member did, as a quiet line between the messages. */
export function SystemRow({ message }: { message: Message }) {
  const { me } = useSession();
  return (
    <li id={message.id} class="message system muted small" tabIndex={-1}>
      {toSystemText(message, me.id)} ·{" "}
      <time class="message-time" title={formatFullTime(message.created_at)}>
        {formatClock(message.created_at)}
      </time>
    </li>
  );
}
