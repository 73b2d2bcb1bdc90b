// A conversation: header, messages, who is typing, and the composer.
import type { SyncMessage } from "parley-sync";
import { useEffect, useRef, useState } from "preact/hooks";
import { Composer, type Target } from "./composer.tsx";
import { MessageList } from "./message-list.tsx";
import { useSession, useView } from "./session.ts";
import { Avatar, IconButton } from "./small.tsx";
import { findName, toTitle } from "./texts.ts";

interface Props {
  id: string;
  /** Whether the field has the focus at first. */
  hasFocus: boolean;
  /** Undefined without a list to return to. */
  onBack?: (() => void) | undefined;
}

export function Chat({ id, hasFocus, onBack }: Props) {
  const { sync, translate } = useSession();
  const state = useView(sync.conversation(id));
  const { state: link } = useView(sync.connection());
  const typists = useView(sync.typing(id));
  const [target, setTarget] = useState<Target>();
  const field = useRef<HTMLTextAreaElement>(null);
  const { conversation, isLoaded } = state;
  const isShown = conversation !== undefined;
  useEffect(() => {
    if (hasFocus && isShown) field.current!.focus();
  }, [isShown]);
  if (!isShown) return <p class="empty">{link === "live" && isLoaded && translate("notFound")}</p>;
  const title = toTitle(conversation, translate);
  const actions = {
    reply: (message: SyncMessage) => setTarget({ kind: "reply", message }),
    edit: (message: SyncMessage) => setTarget({ kind: "edit", message }),
    leave: () => field.current!.focus(),
  };
  const [typist] = typists;
  return (
    <section class="chat" aria-label={title}>
      <header class="chat-header">
        {onBack && <IconButton class="back" icon="back" label={translate("back")} onClick={onBack} />}
        <Avatar name={title} url={conversation.avatar_url} />
        <h2 class="ellipsis">
          <bdi>{title}</bdi>
        </h2>
      </header>
      <MessageList id={id} state={state} actions={actions} />
      <p class="typing" aria-live="polite">
        {typist !== undefined && (
          <>
            <span class="dots" aria-hidden="true">
              <i />
              <i />
              <i />
            </span>
            {typists.length === 1
              ? translate("typing", { name: findName(typist, state, translate) })
              : translate("severalTyping")}
          </>
        )}
      </p>
      <Composer id={id} name={title} field={field} target={target} onEnd={() => setTarget(undefined)} />
    </section>
  );
}
