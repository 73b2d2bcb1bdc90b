// One message, with its reactions and the buttons that act on it.
import type { Message } from "parley-client";
import type { SyncMessage } from "parley-sync";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Files } from "./files.tsx";
import { splitLinks } from "./links.ts";
import { useSession } from "./session.ts";
import { Avatar, Icon, IconButton, type IconName } from "./small.tsx";
import { toLine, toName, toSystemText } from "./texts.ts";

const EMOJI = ["👍", "❤️", "😂", "😮", "😢", "🙏", "🎉", "👀"];
const LONE_EMOJI = /^(?:\p{Extended_Pictographic}|\p{Emoji_Component}){1,8}$/u;

export interface MessageActions {
  reply(message: SyncMessage): void;
  edit(message: SyncMessage): void;
  jump(id: string): void;
  /** Moves the focus, because the message or its button goes. */
  leave(): void;
}

interface Row {
  message: SyncMessage;
  meId: string | undefined;
  /** Whether it continues the message above, without a name. */
  follows: boolean;
  /** Whether its sender is shown. */
  isNamed: boolean;
  isRead: boolean;
  /** The message replied to; null if it is deleted, undefined while loading. */
  quoted: Message | null | undefined;
  /** Whether Tab reaches it and its buttons. */
  isActive: boolean;
  /** Whether its buttons are shown. */
  hasTools: boolean;
  actions: MessageActions;
}

export function MessageRow(props: Row) {
  const { message, meId, follows, isNamed, isActive } = props;
  const { translate } = useSession();
  const tabIndex = isActive ? 0 : -1;
  if (message.type !== "text")
    return (
      <li class="system" data-key={message.key} tabIndex={tabIndex}>
        {toSystemText(message, translate)}
      </li>
    );
  const isOwn = message.sender?.id === meId;
  const name = toName(message.sender, translate);
  const isSided = isNamed && !isOwn;
  const classes = ["message", isOwn && "own", follows && "follows", isSided && "sided"].filter(Boolean);
  return (
    <li class={classes.join(" ")} data-key={message.key} tabIndex={tabIndex}>
      {isSided && !follows && <Avatar name={name} url={message.sender?.avatar_url ?? null} isSmall />}
      <div class="message-body">
        {!follows && <p class={isSided ? "sender" : "visually-hidden"}>{isOwn ? translate("you") : name}</p>}
        <Bubble {...props} isOwn={isOwn} />
        {message.state === "sent" && props.hasTools && <Tools {...props} isOwn={isOwn} />}
        <Reactions message={message} meId={meId} tabIndex={tabIndex} />
        {message.state === "failed" && <Failure message={message} actions={props.actions} />}
      </div>
    </li>
  );
}

function Bubble(props: Row & { isOwn: boolean }) {
  const { message, isOwn, isRead, quoted, isActive, actions } = props;
  const { translate, format } = useSession();
  const { text, created_at, edited_at, reply_to_id, attachments, files } = message;
  const hasFiles = attachments.length + files.length > 0;
  const isLone = text !== null && LONE_EMOJI.test(text) && /\p{Extended_Pictographic}/u.test(text);
  return (
    <div class={hasFiles && text === null ? "bubble bare" : "bubble"}>
      {reply_to_id !== null && (
        <button
          type="button"
          class="quote"
          tabIndex={isActive ? 0 : -1}
          onClick={() => actions.jump(reply_to_id)}
        >
          {quoted ? (
            <>
              <strong class="ellipsis">{toName(quoted.sender, translate)}</strong>
              <bdi class="ellipsis">{toLine(quoted, translate)}</bdi>
            </>
          ) : (
            <span class="ellipsis">{quoted === null ? translate("deletedMessage") : "…"}</span>
          )}
        </button>
      )}
      <Files message={message} />
      <div class="bubble-end">
        {text !== null ? (
          <p class={isLone ? "text lone" : "text"}>
            {splitLinks(text).map((part) =>
              typeof part === "string" ? (
                part
              ) : (
                <a
                  href={part.href}
                  target="_blank"
                  rel="noopener noreferrer nofollow"
                  tabIndex={isActive ? 0 : -1}
                >
                  {part.text}
                </a>
              ),
            )}
          </p>
        ) : (
          !hasFiles && <p class="text">{translate("appData")}</p>
        )}
        <p class="foot">
          {edited_at !== null && <span>{translate("edited")}</span>}
          <time title={format.full(created_at)}>{format.clock(created_at)}</time>
          {isOwn && <Tick state={isRead ? "read" : message.state} />}
        </p>
      </div>
    </div>
  );
}

const TICKS: Record<string, ["check" | "checks" | "clock", "read" | "sent" | "waiting"]> = {
  read: ["checks", "read"],
  sent: ["check", "sent"],
};

/** How far an own message has come. */
function Tick({ state }: { state: string }) {
  const { translate } = useSession();
  const [icon, label] = TICKS[state] ?? ["clock", "waiting"];
  return (
    <span class={`tick ${label}`} title={translate(label)}>
      <Icon name={icon} />
      <span class="visually-hidden">{translate(label)}</span>
    </span>
  );
}

function Reactions({ message, meId, tabIndex }: Pick<Row, "message" | "meId"> & { tabIndex: number }) {
  const { sync, translate } = useSession();
  const { id, conversation_id, reactions } = message;
  if (reactions.length === 0) return null;
  return (
    <ul class="reactions">
      {reactions.map(({ emoji, count, user_ids }) => {
        const isOwn = meId !== undefined && user_ids.includes(meId);
        return (
          <li key={emoji}>
            <button
              type="button"
              class="reaction"
              tabIndex={tabIndex}
              aria-pressed={isOwn}
              aria-label={translate("reactions", { emoji, count })}
              onClick={() => sync.react(conversation_id, id, emoji, !isOwn)}
            >
              <bdi>{emoji}</bdi> {count}
            </button>
          </li>
        );
      })}
    </ul>
  );
}

/** The buttons of a message, which become those of one action. */
function Tools({ message, meId, isOwn, isActive, actions }: Row & { isOwn: boolean }) {
  const { sync, translate } = useSession();
  const [shown, setShown] = useState<"all" | "emoji" | "delete">("all");
  const { id, conversation_id, reactions } = message;
  const tabIndex = isActive ? 0 : -1;
  const group = useRef<HTMLDivElement>(null);
  const before = useRef(shown);
  useLayoutEffect(() => {
    // The button that had the focus is gone. At once, or the buttons of a message without the focus would go, too.
    if (before.current !== shown) group.current!.querySelector("button")!.focus();
    before.current = shown;
  }, [shown]);
  const remove = () => {
    sync.delete(conversation_id, id);
    actions.leave();
  };
  const choose = (emoji: string) => {
    const mine = reactions.find((each) => each.emoji === emoji)?.user_ids ?? [];
    sync.react(conversation_id, id, emoji, !mine.includes(meId ?? ""));
    setShown("all");
  };
  const toTool = (icon: IconName, label: "react" | "reply" | "edit" | "delete", onClick: () => void) => (
    <IconButton icon={icon} label={translate(label)} tabIndex={tabIndex} onClick={onClick} />
  );
  return (
    <div
      ref={group}
      class={shown === "all" ? "tools" : "tools choice"}
      role="group"
      aria-label={translate("actions")}
      onKeyDown={(event) => event.key === "Escape" && setShown("all")}
    >
      {shown === "all" && (
        <>
          {toTool("react", "react", () => setShown("emoji"))}
          {toTool("reply", "reply", () => actions.reply(message))}
          {isOwn && message.text !== null && toTool("edit", "edit", () => actions.edit(message))}
          {isOwn && toTool("trash", "delete", () => setShown("delete"))}
        </>
      )}
      {shown === "emoji" &&
        EMOJI.map((emoji) => (
          <button type="button" class="icon-button" tabIndex={tabIndex} onClick={() => choose(emoji)}>
            {emoji}
          </button>
        ))}
      {shown === "delete" && (
        <>
          <span class="question">{translate("confirmDelete")}</span>
          <button type="button" class="button danger" onClick={remove}>
            {translate("delete")}
          </button>
          <button type="button" class="button" onClick={() => setShown("all")}>
            {translate("cancel")}
          </button>
        </>
      )}
    </div>
  );
}

function Failure({ message, actions }: Pick<Row, "message" | "actions">) {
  const { sync, translate } = useSession();
  const { key, reason } = message;
  const leave = (done: Promise<void>) => done.then(actions.leave, () => {});
  return (
    <p class="failure" role="alert">
      {translate("failed")} {reason?.detail}
      <button type="button" class="button" onClick={() => leave(sync.retry(key))}>
        {translate("retry")}
      </button>
      <button type="button" class="button" onClick={() => leave(sync.discard(key))}>
        {translate("discard")}
      </button>
    </p>
  );
}
