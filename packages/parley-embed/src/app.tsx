// The content of an element.
import { useEffect, useRef } from "preact/hooks";
import { Chat } from "./chat.tsx";
import { Inbox } from "./inbox.tsx";
import { type Session, SessionContext, useSession, useView } from "./session.ts";
import { Icon } from "./small.tsx";

interface Props {
  session: Session;
  /** Whether it has the list of conversations. */
  hasInbox: boolean;
  conversation: string | null;
  /** Null returns to the list. */
  onOpen: (id: string | null) => void;
}

export function App({ session, hasInbox, conversation, onOpen }: Props) {
  return (
    <SessionContext.Provider value={session}>
      <Link />
      {hasInbox ? (
        <TwoPanes conversation={conversation} onOpen={onOpen} />
      ) : (
        conversation !== null && <Chat key={conversation} id={conversation} hasFocus={false} />
      )}
    </SessionContext.Provider>
  );
}

function TwoPanes({ conversation, onOpen }: Pick<Props, "conversation" | "onOpen">) {
  const { translate } = useSession();
  const panes = useRef<HTMLDivElement>(null);
  const openedByUser = useRef<string | undefined>(undefined);
  const open = (id: string) => {
    openedByUser.current = id;
    onOpen(id);
  };
  const hasReturned = useRef(false);
  useEffect(() => {
    if (hasReturned.current) panes.current!.querySelector<HTMLElement>("[role=listbox]")?.focus();
    hasReturned.current = false;
  });
  const back = () => {
    hasReturned.current = true;
    onOpen(null);
  };
  return (
    <div ref={panes} class={conversation === null ? "panes" : "panes open"}>
      <Inbox openId={conversation} onOpen={open} />
      {conversation === null ? (
        <p class="empty">
          <Icon name="talk" />
          {translate("chooseConversation")}
        </p>
      ) : (
        <Chat
          key={conversation}
          id={conversation}
          hasFocus={openedByUser.current === conversation}
          onBack={back}
        />
      )}
    </div>
  );
}

/** Says that the connection is lost, or that the server refuses the token. */
function Link() {
  const { sync, translate } = useSession();
  const { state } = useView(sync.connection());
  if (state === "live") return null;
  return (
    <p class={`link ${state}`} role="status">
      {translate(state)}
    </p>
  );
}
