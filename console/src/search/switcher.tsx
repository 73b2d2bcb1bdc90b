// The quick switcher: finds conversations and contacts by a few letters and opens them.
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import type { Contact } from "../../../packages/parley-client/src/index.ts";
import { toGroupFace } from "../groups/texts.ts";
import type { Face } from "../people/known-people.ts";
import { Avatar, toContactHint, usePeople } from "../people/people.tsx";
import { NOTES, openPlace } from "../place.ts";
import { useView } from "../session/copy.ts";
import { useSession } from "../session/session.ts";
import { Dialog } from "../ui/dialog.tsx";
import { counted } from "../ui/format.ts";
import { Icon } from "../ui/icons.tsx";
import { useSettled } from "../ui/use-settled.ts";
import { scoreName } from "./fuzzy.ts";

const MAX_SHOWN = 40;
const PAGE = 100;

interface Place extends Face {
  id: string;
  /** Distinguishes places of the same name. */
  hint: string;
}

export function QuickSwitcher({ onClose }: { onClose: () => void }) {
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const places = usePlaces(typed.trim());
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const current = Math.min(at, places.length - 1);
  const open = (place: Place) => {
    onClose();
    openPlace(place.id);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing || places.length === 0) return;
    if (event.key === "ArrowDown") setAt((current + 1) % places.length);
    else if (event.key === "ArrowUp") setAt((current + places.length - 1) % places.length);
    else if (event.key === "Enter") open(places[current]!);
    else return;
    event.preventDefault();
  };
  useEffect(() => list.current?.children[current]?.scrollIntoView({ block: "nearest" }), [current]);
  return (
    <Dialog title="Go to a contact or a group" onClose={onClose} bare>
      <input
        class="switcher-field"
        role="combobox"
        aria-label="Name of a contact or a group"
        aria-expanded={places.length > 0}
        aria-controls={id}
        aria-autocomplete="list"
        aria-activedescendant={places.length > 0 ? `${id}-${current}` : undefined}
        placeholder="Go to…"
        autocomplete="off"
        spellcheck={false}
        autofocus
        value={typed}
        onInput={({ currentTarget }) => {
          setTyped(currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div ref={list} id={id} class="switcher-list" role="listbox" aria-label="Contacts and groups">
        {places.map((place, index) => (
          <div
            key={place.id}
            id={`${id}-${index}`}
            class="switcher-row"
            role="option"
            aria-selected={index === current}
            onClick={() => open(place)}
          >
            <PlaceAvatar place={place} />
            <span class="ellipsis">{place.name}</span>
            <span class="muted small ellipsis">{place.hint}</span>
          </div>
        ))}
      </div>
      <p class={places.length > 0 ? "visually-hidden" : "switcher-none muted"} role="status">
        {places.length > 0
          ? counted(places.length, "result", "results")
          : `Nothing matches “${typed.trim()}”.`}
      </p>
    </Dialog>
  );
}

function PlaceAvatar({ place }: { place: Place }) {
  if (place.id !== NOTES) {
    return <Avatar {...place} size="small" />;
  }
  return (
    <span class="avatar notes small-avatar" aria-hidden="true">
      <Icon name="notes" />
    </span>
  );
}

/** Returns the best matches; without a text, all known places, most recent activity first. */
function usePlaces(typed: string): readonly Place[] {
  const { sync, groups } = useSession();
  const { items: conversations } = useView(sync.inbox());
  const people = usePeople();
  const contacts = useFoundContacts(useSettled(typed));
  return useMemo(() => {
    const places = new Map<string, Place>();
    const add = (place: Place) => places.has(place.id) || places.set(place.id, place);
    const hints = new Map(contacts.map((contact) => [contact.id, toContactHint(people.toContact(contact))]));
    for (const conversation of conversations) {
      const { contact_id, group_id } = conversation;
      const id = contact_id ?? group_id;
      if (id) add({ id, ...people.toFace(conversation), hint: group_id ? "Group" : (hints.get(id) ?? "") });
    }
    add({ id: NOTES, name: "Notes to self", seed: undefined, picture: undefined, hint: "" });
    for (const group of groups.state.all)
      if (group.role !== "invited") add({ id: group.id, ...toGroupFace(group), hint: "Group" });
    for (const contact of contacts) {
      const person = people.toContact(contact);
      add({ ...person, id: contact.id, hint: toContactHint(person) });
    }
    return [...places.values()]
      .flatMap((place) => {
        const score = toScore(place, typed);
        return score === undefined ? [] : [{ place, score }];
      })
      .sort((a, b) => b.score - a.score)
      .slice(0, MAX_SHOWN)
      .map(({ place }) => place);
  }, [conversations, groups, contacts, typed, people.version]);
}

function toScore({ name, hint }: Place, typed: string): number | undefined {
  if (typed === "") return 0;
  const byName = scoreName(name, typed);
  return byName ?? (hint.toLowerCase().includes(typed.toLowerCase()) ? 0.5 : undefined);
}

/** Returns contacts: the newest, and all that the server has found so far. On failure the conversations suffice. */
function useFoundContacts(q: string): readonly Contact[] {
  const { parley, can } = useSession();
  const [all, setAll] = useState<ReadonlyMap<string, Contact>>(new Map());
  useEffect(() => {
    if (!can("contacts:read")) return;
    const controller = new AbortController();
    parley.contacts
      .list({ active: true, limit: PAGE, ...(q && { q }) }, { signal: controller.signal })
      .then(({ data }) => setAll((old) => new Map([...old, ...data.map((each) => [each.id, each] as const)])))
      .catch(() => {});
    return () => controller.abort();
  }, [parley, q]);
  return useMemo(() => [...all.values()], [all]);
}
