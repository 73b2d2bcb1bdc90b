import { Parley } from "parley-client";
import { openSync } from "parley-sync";
import { indexedDbStore } from "parley-sync/indexeddb";

// Your page gets these when its user signs in.
const { url, user, token } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
const sync = await openSync({ client: new Parley({ url, token }), store: await indexedDbStore(user) });
const [inbox, log, form, state] = ["inbox", "log", "form", "state"].map((id) => document.getElementById(id));

/** Calls back with a view now and after each change. Returns a function that ends this. */
function show({ subscribe, getSnapshot }, render) {
  render(getSnapshot());
  return subscribe(() => render(getSnapshot()));
}

/** Shows an element for each item. Elements stay in the page, with their focus. */
function showList(parent, tag, items, fill) {
  const known = new Map([...parent.children].map((element) => [element.dataset.key, element]));
  items.forEach((item, at) => {
    const key = item.key ?? item.id;
    const element = known.get(key) ?? document.createElement(tag);
    element.dataset.key = key;
    fill(element, item);
    if (parent.children[at] !== element) parent.insertBefore(element, parent.children[at] ?? null);
  });
  while (parent.children.length > items.length) parent.lastElementChild.remove();
}

function fillEntry(button, { id, name, unread_count }) {
  button.textContent = `${name ?? "Notes"} (${unread_count})`;
  button.onclick = () => open(id);
}

function fillMessage(line, { key, sender, text, state, reason }) {
  line.textContent = `${sender?.username}: ${text ?? "a file"}${state === "sent" ? "" : ` (${state})`}`;
  if (state !== "failed") return;
  const retry = document.createElement("button");
  retry.textContent = `Retry: ${reason.detail}`;
  retry.onclick = () => sync.retry(key);
  line.append(retry);
}

let close = () => {};
function open(id) {
  close();
  close = show(sync.conversation(id), ({ messages, conversation }) => {
    showList(log, "p", messages, fillMessage);
    const last = messages.findLast(({ state }) => state === "sent");
    if (conversation?.unread_count && last) sync.read(id, last.id);
  });
  form.hidden = false;
  form.onsubmit = (event) => {
    event.preventDefault();
    sync.send(id, { text: form.elements.text.value });
    form.reset();
  };
}

show(sync.inbox(), ({ items }) => showList(inbox, "button", items, fillEntry));
show(sync.connection(), (connection) => {
  state.textContent = connection.state;
});
