// The messages of a conversation.
import type { ConversationState, SyncMessage } from "parley-sync";
import { useRef } from "preact/hooks";
import { isSameDay } from "./format.ts";
import { useActive, useOlder, useQuoted, useReading, useScrolling } from "./list-hooks.ts";
import { type MessageActions, MessageRow } from "./message.tsx";
import { useMe, useSession, useView } from "./session.ts";
import { Icon, IconButton } from "./small.tsx";

/** After this time, the name of a sender is shown again. */
const FOLLOWS_SECONDS = 300;

export function MessageList(props: {
  state: ConversationState;
  id: string;
  actions: Omit<MessageActions, "jump">;
}) {
  const { state, id } = props;
  const { sync, translate } = useSession();
  const meId = useMe()?.id;
  const { state: link } = useView(sync.connection());
  const { messages, hasOlder, isLoaded } = state;
  const box = useRef<HTMLDivElement>(null);
  const { isAtEnd, onScroll, toEnd } = useScrolling(box, messages, meId);
  const isLoading = useOlder(box, id, hasOlder && isLoaded);
  useReading(box, id, state, isAtEnd);
  const quoted = useQuoted(messages);
  const { active, shownKey, focus, listeners } = useActive(box, messages);
  const actions = {
    ...props.actions,
    jump: (messageId: string) => focus(messages.findIndex((each) => each.id === messageId)),
  };
  return (
    <div class="messages-frame">
      <div
        ref={box}
        class="messages"
        role="log"
        aria-label={translate("messages")}
        aria-busy={isLoading}
        onScroll={onScroll}
        {...listeners}
      >
        {messages.length === 0 && link === "live" && isLoaded && (
          <p class="empty">
            <Icon name="talk" />
            {translate("noMessages")}
          </p>
        )}
        {messages.length > 0 && (
          <ol class="rows">
            {messages.flatMap((message, at) => {
              const before = messages[at - 1];
              const isNewDay = !before || !isSameDay(before.created_at, message.created_at);
              return [
                isNewDay && <Day key={`day ${message.key}`} seconds={message.created_at} />,
                <MessageRow
                  key={message.key}
                  message={message}
                  meId={meId}
                  follows={!isNewDay && doesFollow(message, before)}
                  isNamed={state.conversation?.kind === "group"}
                  isRead={isRead(message, state, meId)}
                  quoted={quoted(message.reply_to_id)}
                  isActive={at === active}
                  hasTools={message.key === shownKey}
                  actions={actions}
                />,
              ];
            })}
          </ol>
        )}
      </div>
      {!isAtEnd && messages.length > 0 && (
        <IconButton class="to-newest" icon="down" label={translate("newest")} onClick={toEnd} />
      )}
    </div>
  );
}

function doesFollow(message: SyncMessage, before: SyncMessage): boolean {
  if (message.type !== "text" || before.type !== "text") return false;
  return message.sender?.id === before.sender?.id && message.created_at - before.created_at < FOLLOWS_SECONDS;
}

function Day({ seconds }: { seconds: number }) {
  const { format } = useSession();
  return (
    <li class="day">
      <span>{format.day(seconds)}</span>
    </li>
  );
}

/** Returns whether the contact, or all other members of a group, have read a message. */
function isRead(message: SyncMessage, state: ConversationState, meId: string | undefined): boolean {
  const { conversation, members } = state;
  if (message.state !== "sent") return false;
  if (conversation?.kind === "contact") return (conversation.contact_read_id ?? "") >= message.id;
  const others = members?.filter(({ user_id, role }) => user_id !== meId && role !== "invited") ?? [];
  return others.length > 0 && others.every(({ read_message_id }) => (read_message_id ?? "") >= message.id);
}
