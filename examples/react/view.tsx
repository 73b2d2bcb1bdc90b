import { useConnection, useInbox, useMessages, useSend, useSync, useTyping, useUnread } from "parley-react";
import { useEffect, useState } from "react";
import { Composer, Entry, Message } from "./parts.tsx";

export function App() {
  const [shown, setShown] = useState<string>();
  const [unread, { items }, { state }] = [useUnread(), useInbox(), useConnection()];
  return (
    <>
      <h1>{`Inbox (${unread}), ${state}`}</h1>
      {items.map((entry) => (
        <Entry key={entry.id} entry={entry} onOpen={() => setShown(entry.id)} />
      ))}
      {shown && <Conversation key={shown} id={shown} />}
    </>
  );
}

function Conversation({ id }: { id: string }) {
  const { messages, conversation, hasOlder, loadOlder } = useMessages(id);
  const { typists, notifyTyping } = useTyping(id);
  const [send, sync, { me }] = [useSend(id), useSync(), useConnection()];
  const unread = conversation?.unread_count && messages.findLast(({ state }) => state === "sent")?.id;
  useEffect(() => {
    if (unread) sync.read(id, unread);
  }, [sync, id, unread]);
  return (
    <section>
      {hasOlder && <input type="button" value="Older messages" onClick={loadOlder} />}
      {messages.map((message) => (
        <Message key={message.key} message={message} sync={sync} me={me} />
      ))}
      {typists.length > 0 && <p>typing…</p>}
      <Composer onInput={notifyTyping} onSend={send} />
    </section>
  );
}
