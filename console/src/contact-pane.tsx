// The left side: the conversations by activity, then the contacts without messages, the search, and adding a contact.
import { useMemo, useRef, useState } from "preact/hooks";
import type { Contact, Conversation, Group } from "../../client/src/index.ts";
import { AddContact } from "./add-contact.tsx";
import { Choice } from "./choice.tsx";
import { ContactList, type Entry, toPlace } from "./contact-list.tsx";
import { CreateGroup } from "./groups/create-group.tsx";
import { Invitations } from "./groups/invitations.tsx";
import { useGroups } from "./groups/use-groups.ts";
import { Icon, IconButton } from "./icons.tsx";
import type { Change } from "./live.ts";
import { PageFailure, Reading } from "./page-notes.tsx";
import { openPlace } from "./place.ts";
import { useChanges, useSession } from "./session.ts";
import { useInbox } from "./use-inbox.ts";
import { type Pages, usePages } from "./use-pages.ts";
import { useSettled } from "./use-settled.ts";

const PAGE = 100;

const CHOICES = [
  ["active", "Contacts"],
  ["blocked", "Blocked"],
] as const;
type Blocked = (typeof CHOICES)[number][0];

export function ContactPane(props: { openId: string; onOpen: (contact: Contact, blocked: boolean) => void }) {
  const { parley } = useSession();
  const [typed, setTyped] = useState("");
  const [adding, setAdding] = useState(false);
  const [isCreating, setCreating] = useState(false);
  const [shown, setShown] = useState<Blocked>("active");
  const q = useSettled(typed.trim());
  const contacts = usePages<Contact>(`${shown} ${q}`, (after, signal) =>
    parley.contacts.list(
      { limit: PAGE, active: shown === "active", ...(q && { q }), ...(after && { starting_after: after }) },
      { signal },
    ),
  );
  const inbox = useInbox();
  const isNarrowed = q !== "" || shown === "blocked";
  useContactEvents(contacts, isNarrowed);
  const found = useFoundGroups(shown === "active" ? q : "");
  const pages = useEntries(isNarrowed ? undefined : inbox, contacts, found);
  const pane = useRef<HTMLElement>(null);
  return (
    <nav class="contacts" aria-label="Contacts" ref={pane}>
      <div class="search-row">
        <label class="search">
          <Icon name="search" />
          <input
            type="search"
            aria-label="Search contacts and groups"
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
        <IconButton icon="people" label="Create a group" onClick={() => setCreating(true)} />
      </div>
      <div class="choice-row">
        <Choice
          legend="Which contacts are listed"
          name="shown"
          chosen={shown}
          choices={CHOICES}
          onChoose={setShown}
        />
        {!pages.current && <Reading />}
      </div>
      <Invitations />
      <Body {...props} pages={pages} q={q} shown={shown} onAdd={() => setAdding(true)} />
      {isCreating && <CreateGroup onClose={() => setCreating(false)} />}
      {adding && (
        <AddContact
          suggestion={q}
          onClose={() => setAdding(false)}
          onExisting={openPlace}
          onAdded={(contact) => {
            setTyped("");
            setShown("active");
            contacts.edit((items) => [contact, ...items.filter(({ id }) => id !== contact.id)]);
            props.onOpen(contact, false);
          }}
        />
      )}
    </nav>
  );
}

type Entries = Pick<Pages<Entry>, "items" | "hasMore" | "loading" | "current" | "more" | "failure" | "retry">;

/** Returns the user's groups whose name has the text; none without a text. */
function useFoundGroups(q: string): readonly Group[] {
  const { all } = useGroups();
  return useMemo(() => {
    const text = q.toLowerCase();
    const isFound = ({ role, name }: Group) => role !== "invited" && name.toLowerCase().includes(text);
    return text === "" ? [] : all.filter(isFound);
  }, [all, q]);
}

/** Returns the conversations, and after the last one the contacts that have none. */
function useEntries(
  inbox: Pages<Conversation> | undefined,
  contacts: Pages<Contact>,
  found: readonly Group[],
): Entries {
  const items = useMemo(() => {
    if (inbox === undefined) return [...found, ...contacts.items];
    if (!inbox.current) return [];
    if (inbox.items.length === 0 || inbox.hasMore) return inbox.hasMore ? inbox.items : contacts.items;
    const listed = new Set(inbox.items.map(toPlace));
    return [...inbox.items, ...contacts.items.filter(({ id }) => !listed.has(id))];
  }, [inbox?.items, inbox?.hasMore, inbox?.current, contacts.items, found]);
  const waiting = inbox && (!inbox.current || inbox.hasMore || inbox.failure) ? inbox : contacts;
  const { loading, current, more, failure, retry } = waiting;
  return { items, hasMore: waiting.hasMore || contacts.hasMore, loading, current, more, failure, retry };
}

function Body(props: {
  pages: Entries;
  q: string;
  shown: Blocked;
  openId: string;
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
          onOpen={(entry) => {
            if (!("phone_number" in entry)) openPlace(toPlace(entry));
            else props.onOpen(entry, shown === "blocked");
          }}
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

function Emptiness(props: { pages: Entries; q: string; shown: Blocked; onAdd: () => void }) {
  const { pages, q, shown } = props;
  // The line beside the filter already says that it loads.
  if (pages.loading) return null;
  if (q) return <p class="muted">Nothing matches “{q}”.</p>;
  if (shown === "blocked") return <p class="muted">You have no blocked contacts.</p>;
  return (
    <>
      <p class="muted">No contacts yet. Add someone to write to.</p>
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
    if (!isAboutContact(change)) return;
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

type ContactChange = Extract<Change, { type: `contact.${string}` }>;

function isAboutContact(change: Change): change is ContactChange {
  return change.type.startsWith("contact.");
}
