// A page that shows what the hooks return, for the tests in a browser.
import { createElement, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { Parley } from "../../packages/parley-client/src/index.ts";
import {
  ParleyProvider,
  useContact,
  useMessages,
  useTyping,
  useUnread,
} from "../../packages/parley-react/src/index.ts";
import { memoryStore, openSync } from "../../packages/parley-sync/src/index.ts";

const [token = "", contactId = "", conversationId = ""] = location.hash.slice(1).split(",");

function Shown() {
  const [unread, contact] = [useUnread(), useContact(contactId)];
  const { messages, loadOlder } = useMessages(conversationId);
  const { typists } = useTyping(conversationId);
  const [changes, setChanges] = useState(0);
  // Counts how often the function changes.
  useEffect(() => setChanges((before) => before + 1), [loadOlder]);
  return JSON.stringify({ unread, username: contact?.username, typists, messages: messages.length, changes });
}

const client = new Parley({ url: location.origin, token });
const sync = await openSync({ client, store: memoryStore() });
createRoot(document.body).render(createElement(ParleyProvider, { sync }, createElement(Shown)));
