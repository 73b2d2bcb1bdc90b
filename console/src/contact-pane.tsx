// The left side: the contacts, the search, and adding a contact.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Contact } from "../../client/src/index.ts";
import { AddContact } from "./add-contact.tsx";
import { ContactList } from "./contact-list.tsx";
import { Icon, IconButton } from "./icons.tsx";
import { PageFailure, Reading } from "./page-notes.tsx";
import { openPlace } from "./place.ts";
import { useChanges, useSession } from "./session.ts";
import { type Pages, usePages } from "./use-pages.ts";

const PAGE = 100;
const TYPING_MS = 150;

type Blocked = "active" | "blocked";

export function ContactPane(props: {
  openId: string;
  /** The conversations with unseen files. */
  unseen: ReadonlySet<string>;
  onOpen: (contact: Contact, blocked: boolean) => void;
}) {
  const { parley } = useSession();
  const [typed, setTyped] = useState("");
  const [adding, setAdding] = useState(false);
  const [shown, setShown] = useState<Blocked>("active");
  const q = useSettled(typed.trim());
  const pages = usePages<Contact>(`${shown} ${q}`, (after, signal) =>
    parley.contacts.list(
      { limit: PAGE, active: shown === "active", ...(q && { q }), ...(after && { starting_after: after }) },
      { signal },
    ),
  );
  useContactEvents(pages, q !== "" || shown === "blocked");
  const pane = useRef<HTMLElement>(null);
  return (
    <nav class="contacts" aria-label="Contacts" ref={pane}>
      <div class="search-row">
        <label class="search">
          <Icon name="search" />
          <input
            type="search"
            aria-label="Search contacts"
            placeholder="Search"
            autocomplete="off"
            spellcheck={false}
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === "Escape") setTyped("");
              if (event.key !== "ArrowDown") return;
              event.preventDefault();
              pane.current!.querySelector<HTMLElement>("[role=listbox]")?.focus();
            }}
          />
        </label>
        <IconButton icon="add" label="Add a contact" onClick={() => setAdding(true)} />
      </div>
      <div class="filter-row">
        <Filter shown={shown} onShow={setShown} />
        {!pages.current && <Reading />}
      </div>
      <Body {...props} pages={pages} q={q} shown={shown} onAdd={() => setAdding(true)} />
      {adding && (
        <AddContact
          suggestion={q}
          onClose={() => setAdding(false)}
          onExisting={openPlace}
          onAdded={(contact) => {
            setTyped("");
            setShown("active");
            pages.edit((items) => [contact, ...items.filter(({ id }) => id !== contact.id)]);
            props.onOpen(contact, false);
          }}
        />
      )}
    </nav>
  );
}

function Filter({ shown, onShow }: { shown: Blocked; onShow: (shown: Blocked) => void }) {
  const choices: [Blocked, string][] = [
    ["active", "Contacts"],
    ["blocked", "Blocked"],
  ];
  return (
    <fieldset class="filter">
      <legend class="visually-hidden">Which contacts are listed</legend>
      {choices.map(([value, label]) => (
        <label key={value} class={value === shown ? "chosen" : ""}>
          <input
            class="visually-hidden"
            type="radio"
            name="shown"
            checked={value === shown}
            onChange={() => onShow(value)}
          />
          {label}
        </label>
      ))}
    </fieldset>
  );
}

function Body(props: {
  pages: Pages<Contact>;
  q: string;
  shown: Blocked;
  openId: string;
  unseen: ReadonlySet<string>;
  onOpen: (contact: Contact, blocked: boolean) => void;
  onAdd: () => void;
}) {
  const { pages, q, shown } = props;
  return (
    <>
      {pages.items.length > 0 ? (
        <ContactList
          key={`${shown} ${q}`}
          label={shown === "active" ? "Contacts" : "Blocked contacts"}
          pages={pages}
          openId={props.openId}
          unseen={props.unseen}
          onOpen={(contact) => props.onOpen(contact, shown === "blocked")}
        />
      ) : (
        !pages.failure && (
          <div class="contacts-empty" role="status">
            <Emptiness {...props} />
          </div>
        )
      )}
      <PageFailure pages={pages} />
    </>
  );
}

function Emptiness(props: { pages: Pages<Contact>; q: string; shown: Blocked; onAdd: () => void }) {
  const { pages, q, shown } = props;
  // The line beside the filter already says that it loads.
  if (pages.loading) return null;
  if (q) return <p class="muted">No contacts match “{q}”.</p>;
  if (shown === "blocked") return <p class="muted">You have no blocked contacts.</p>;
  return (
    <>
      <p class="muted">No contacts yet. Add someone to share files with.</p>
      <button type="button" class="button primary" onClick={props.onAdd}>
        Add a contact
      </button>
    </>
  );
}

/** Applies events to the list. `narrowed`: the list has only some contacts, so only the server knows whether a new one belongs to it. */
function useContactEvents(pages: Pages<Contact>, narrowed: boolean): void {
  useChanges((change) => {
    if (change.type === "missed") return pages.reload();
    const { type, payload } = change;
    const without = (items: Contact[]) => items.filter(({ id }) => id !== payload.id);
    const here = pages.items.some(({ id }) => id === payload.id);
    if (type === "contact.updated")
      pages.edit((items) => items.map((each) => (each.id === payload.id ? payload : each)));
    else if (type === "contact.deleted" || (type === "contact.moved" && here)) pages.edit(without);
    else if (type === "contact.moved" || (type === "contact.created" && narrowed)) pages.reload();
    else if (type === "contact.created") pages.edit((items) => [payload, ...without(items)]);
  });
}

/** Returns the text after a pause in typing. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    if (text === "") return setSettled("");
    const timer = setTimeout(() => setSettled(text), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
