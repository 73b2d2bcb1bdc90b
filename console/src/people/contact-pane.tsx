// The left side: conversations, pinned ones first, then contacts without messages, the search, and the button that
// adds a contact.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Contact, Group } from "../../../packages/parley-client/src/index.ts";
import type { SharedFile } from "../files/file-actions.ts";
import { CreateGroup } from "../groups/create-group.tsx";
import { Invitations } from "../groups/invitations.tsx";
import { useGroups } from "../groups/use-groups.ts";
import { type Inbox, useInbox } from "../messages/use-inbox.ts";
import { NOTES, openPlace } from "../place.ts";
import { FoundFiles, useFoundFiles } from "../search/found-files.tsx";
import { FoundList, toHitPlace } from "../search/found-list.tsx";
import { SearchField } from "../search/search-field.tsx";
import { type Hit, MAX_QUERY, useFound } from "../search/use-found.ts";
import { useSession } from "../session/session.ts";
import { Choice } from "../ui/choice.tsx";
import { Icon, IconButton } from "../ui/icons.tsx";
import type { Listed } from "../ui/list-box.tsx";
import { SecondUser } from "../ui/nothing.tsx";
import { PageFailure, Reading, toCount, toNotAllowed } from "../ui/page-notes.tsx";
import type { Pages } from "../ui/use-pages.ts";
import { useSettled } from "../ui/use-settled.ts";
import { AddContact } from "./add-contact.tsx";
import { ContactList } from "./contact-list.tsx";
import { type Entry, toPlace } from "./entry.ts";
import { Requests } from "./requests.tsx";
import { useContacts } from "./use-contacts.ts";

const CHOICES = [
  ["active", "Contacts"],
  ["archived", "Archived"],
  ["blocked", "Blocked"],
  ["requests", "Requests"],
] as const;
type Shown = (typeof CHOICES)[number][0];
const LIST_LABELS = {
  active: "Contacts",
  archived: "Archived conversations",
  blocked: "Blocked contacts",
  requests: "Contacts",
};

export function ContactPane(props: {
  openId: string;
  onOpen: (contact: Contact, blocked: boolean) => void;
  /** Called with whether there are no contacts yet. */
  onNew: (isNew: boolean) => void;
}) {
  const { can } = useSession();
  const [typed, setTyped] = useState("");
  const [adding, setAdding] = useState(false);
  const [isCreating, setCreating] = useState(false);
  const [shown, setShown] = useState<Shown>("active");
  const q = useSettled(typed.trim());
  const isBlocked = shown === "blocked";
  const contacts = useContacts(isBlocked, q);
  const inbox = useInbox();
  const isNarrowed = q !== "" || isBlocked;
  const groups = useFoundGroups(isBlocked ? "" : q);
  const entries = useEntries(isNarrowed ? undefined : inbox, contacts, groups);
  const found = useFound(isBlocked ? "" : q);
  const files = useFoundFiles(isBlocked ? "" : q);
  const pages = shown === "archived" && q === "" ? { ...inbox, items: inbox.archived } : entries;
  // A page may have no item to list: load the next one.
  useEffect(() => {
    if (pages.items.length === 0) pages.more();
  });
  const { onNew } = props;
  const isEmpty = shown === "active" && q === "" && isEnd(pages) && pages.items.length === 0;
  const isNew = isEmpty && can("contacts:read");
  useEffect(() => onNew(isNew), [onNew, isNew]);
  const pane = useRef<HTMLElement>(null);
  const clear = () => {
    setTyped("");
    pane.current!.querySelector("input")!.focus();
  };
  return (
    <nav
      class="contacts"
      aria-label="Contacts"
      ref={pane}
      onKeyDown={(event) => {
        if (event.key === "Escape" && typed !== "" && !(event.target as Element).closest("dialog")) clear();
      }}
    >
      <div class="search-row">
        <SearchField
          label="Search contacts, groups, messages and files"
          placeholder="Search"
          maxLength={MAX_QUERY}
          value={typed}
          onType={setTyped}
          onKeyDown={(event) => {
            if (event.key !== "ArrowDown") return;
            event.preventDefault();
            pane.current!.querySelector<HTMLElement>("[role=listbox]")?.focus();
          }}
        />
        {can("contacts:write") && (
          <IconButton icon="addPerson" label="Add a contact" onClick={() => setAdding(true)} />
        )}
        {can("groups:write") && (
          <IconButton icon="people" label="Create a group" onClick={() => setCreating(true)} />
        )}
      </div>
      <div class="choice-row">
        <ListChoice
          // A search covers everything except blocked contacts.
          shown={q === "" || isBlocked ? shown : undefined}
          onShow={setShown}
          onLeaveSearch={() => setTyped("")}
        />
        {!(pages.current && found.current && files.current) && <Reading />}
      </div>
      {shown === "active" && q === "" && <NotesLink isOpen={props.openId === NOTES} />}
      {shown === "active" && q === "" && <Invitations />}
      <div class={q === "" ? "results" : "results found"}>
        {shown === "requests" && q === "" ? (
          <Requests openId={props.openId} onOpen={(contact) => props.onOpen(contact, false)} />
        ) : (
          <Body {...props} {...{ pages, q, found, files, shown }} onAdd={() => setAdding(true)} />
        )}
      </div>
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

/** Choosing a list ends a search, but not "Blocked", which is then searched. */
function ListChoice(props: {
  shown: Shown | undefined;
  onShow: (shown: Shown) => void;
  onLeaveSearch: () => void;
}) {
  return (
    <Choice
      legend="Which contacts are listed"
      name="shown"
      chosen={props.shown}
      choices={CHOICES}
      onChoose={(shown) => {
        props.onShow(shown);
        if (shown !== "blocked") props.onLeaveSearch();
      }}
    />
  );
}

/** Whether the whole list is loaded. */
function isEnd({ loading, current, hasMore, failure }: Entries): boolean {
  return current && !loading && !hasMore && !failure;
}

function NotesLink({ isOpen }: { isOpen: boolean }) {
  return (
    <a class="notes-link" href={`#${NOTES}`} aria-current={isOpen ? "page" : undefined}>
      <span class="avatar notes" aria-hidden="true">
        <Icon name="notes" />
      </span>
      Notes to self
    </a>
  );
}

type Entries = Listed<Entry> & Pick<Pages<Entry>, "current" | "failure" | "retry">;

/** Returns the user's groups whose name contains the text; none without a text. */
function useFoundGroups(q: string): readonly Group[] {
  const { all } = useGroups();
  return useMemo(() => {
    const text = q.toLowerCase();
    const isFound = ({ role, name }: Group) => role !== "invited" && name.toLowerCase().includes(text);
    return text === "" ? [] : all.filter(isFound);
  }, [all, q]);
}

/** Returns the conversations, then the contacts without one. */
function useEntries(inbox: Inbox | undefined, contacts: Pages<Contact>, found: readonly Group[]): Entries {
  const items = useMemo((): readonly Entry[] => {
    if (inbox === undefined) return [...found, ...contacts.items];
    if (!inbox.current) return [];
    if (inbox.hasMore) return inbox.items;
    if (inbox.all.length === 0) return contacts.items;
    const known = new Set(inbox.all.map(toPlace));
    return [...inbox.items, ...contacts.items.filter(({ id }) => !known.has(id))];
  }, [inbox?.items, inbox?.all, inbox?.hasMore, inbox?.current, contacts.items, found]);
  const waiting = inbox && (!inbox.current || inbox.hasMore || inbox.failure) ? inbox : contacts;
  const { loading, current, more, failure, retry } = waiting;
  return { items, hasMore: waiting.hasMore || contacts.hasMore, loading, current, more, failure, retry };
}

interface BodyProps {
  pages: Entries;
  q: string;
  found: Pages<Hit>;
  files: Pages<SharedFile>;
  shown: Shown;
  openId: string;
  onOpen: (contact: Contact, blocked: boolean) => void;
  onAdd: () => void;
}

function Body(props: BodyProps) {
  const { pages, q, found, files, shown } = props;
  return (
    <>
      {pages.items.length > 0 ? (
        <ContactList
          key={`${shown} ${q}`}
          label={LIST_LABELS[shown]}
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
      {q !== "" && <FoundFiles found={files} q={q} />}
      {q !== "" && <FoundMessages found={found} q={q} />}
    </>
  );
}

/** The messages found, below the contacts and files. */
function FoundMessages({ found, q }: { found: Pages<Hit>; q: string }) {
  const { jumps } = useSession();
  const [chosenId, setChosenId] = useState("");
  const isAny = found.items.length > 0;
  return (
    <>
      {isAny && <h2 class="found-head muted small">Messages</h2>}
      <span class="visually-hidden" role="status">
        {isAny && toCount(found)}
      </span>
      {isAny && (
        <FoundList
          pages={found}
          q={q}
          isHere={false}
          chosenId={chosenId}
          onOpen={(hit) => {
            setChosenId(hit.id);
            jumps.to(hit.message, toHitPlace(hit.conversation));
          }}
        />
      )}
      <PageFailure pages={found} />
    </>
  );
}

function Emptiness(props: BodyProps) {
  const { pages, q, found, files, shown } = props;
  const { can } = useSession();
  // The line beside the filter already shows the loading.
  if (pages.loading || pages.hasMore) return null;
  const isOpen = ({ loading, failure, items }: Pages<Hit> | Pages<SharedFile>) =>
    loading || failure || items.length > 0;
  if (q && (isOpen(found) || isOpen(files))) return null;
  if (q) return <p class="muted">Nothing matches “{q}”.</p>;
  if (shown === "archived" && !can("messages:read"))
    return <p class="muted">{toNotAllowed("read conversations")}</p>;
  if (shown === "archived") return <p class="muted">You have no archived conversations.</p>;
  if (!can("contacts:read")) return <p class="muted">{toNotAllowed("see contacts")}</p>;
  if (shown === "blocked") return <p class="muted">You have no blocked contacts.</p>;
  if (!can("contacts:write")) return <p class="muted">No contacts yet. {toNotAllowed("add contacts")}</p>;
  return (
    <>
      <p class="muted">No contacts yet. Add someone to write to.</p>
      <span class="only-narrow">
        <button type="button" class="button primary" onClick={props.onAdd}>
          Add your first contact
        </button>
        <SecondUser />
      </span>
    </>
  );
}
