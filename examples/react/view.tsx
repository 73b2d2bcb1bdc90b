import { useConnection, useInbox, useMessages, useSend, useSync, useTyping, useUnread } from "parley-react";
import { useEffect, useState } from "react";
import { Composer, Entry, Log, Message } from "./parts.tsx";

export function App() {
  const [openId, setOpenId] = useState<string>();
  const [unread, { items }, { state }] = [useUnread(), useInbox(), useConnection()];
  return (
    <>
      <nav aria-label="Conversations">
        <h1>{`Inbox (${unread})`}</h1>
        {items.map((entry) => (
          <Entry key={entry.id} entry={entry} isOpen={entry.id === openId} onOpen={setOpenId} />
        ))}
        <output>{state}</output>
      </nav>
      {openId && <Conversation key={openId} id={openId} />}
    </>
  );
}

function Conversation({ id }: { id: string }) {
  const { messages, conversation, hasOlder, loadOlder } = useMessages(id);
  const { typists, notifyTyping } = useTyping(id);
  const [send, sync, { me }] = [useSend(id), useSync(), useConnection()];
  const unreadId = conversation?.unread_count && messages.findLast(({ state }) => state === "sent")?.id;
  useEffect(() => {
    if (unreadId) sync.read(id, unreadId);
  }, [sync, id, unreadId]);
  return (
    <section aria-label={conversation?.name ?? "Notes"}>
      <Log onOlder={hasOlder && (() => void loadOlder().catch(() => {}))}>
        {messages.map((message) => (
          <Message key={message.key} message={message} sync={sync} me={me} />
        ))}
      </Log>
      <Composer typists={typists} onSend={send} onInput={notifyTyping} />
    </section>
  );
}
