// The hooks of parley-react on a server that renders pages.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import {
  ParleyProvider,
  useConnection,
  useContact,
  useContacts,
  useInbox,
  useMessages,
  useTyping,
  useUnread,
} from "../../packages/parley-react/src/index.ts";
import { sharedApp } from "../support/app.ts";
import { eventually } from "../support/files-on-disk.ts";
import { pair, say } from "../support/people.ts";
import { type Device, openDevice, settled, show } from "./device.ts";

const server = sharedApp();

function render({ sync }: Device, conversationId: string, contactId: string): unknown {
  function Page() {
    const { messages, isLoaded } = useMessages(conversationId);
    const shown = {
      ...{ unread: useUnread(), names: useInbox().items.map(({ name }) => name ?? "Notes"), isLoaded },
      ...{ contacts: useContacts().items.map(({ username }) => username) },
      ...{ texts: messages.map(({ text }) => text), contact: useContact(contactId)?.username },
      ...{ typists: useTyping(conversationId).typists, state: useConnection().state },
    };
    return createElement("script", { dangerouslySetInnerHTML: { __html: JSON.stringify(shown) } });
  }
  const html = renderToString(createElement(ParleyProvider, { sync }, createElement(Page)));
  return JSON.parse(/^<script>(.*)<\/script>$/.exec(html)![1]!);
}

test("hooks show on a server what the copy has, also if that is nothing", async (t) => {
  const app = await server();
  const { ann, bob, conversation, contact } = await pair(app);
  await say(app, bob, conversation, "Hello Ann");
  const away = await openDevice(t, { url: "http://127.0.0.1:1", token: ann.token });
  assert.deepEqual(render(away, conversation, contact), {
    ...{ unread: 0, names: [], contacts: [], texts: [], isLoaded: false, typists: [], state: "connecting" },
  });
  const device = await openDevice(t, { url: app.url, token: ann.token });
  const { getSnapshot } = show(t, device, conversation);
  assert.ok((await settled(device)) && (await eventually(async () => getSnapshot().isLoaded)));
  assert.deepEqual(render(device, conversation, contact), {
    ...{ unread: 1, names: [bob.name, "Notes"], texts: ["Hello Ann"] },
    ...{ contact: bob.name, contacts: [bob.name], isLoaded: true, typists: [], state: "live" },
  });
});

test("a hook without a provider says what is missing", () => {
  const Page = () => String(useUnread());
  assert.throws(() => renderToString(createElement(Page)), /ParleyProvider/);
});
