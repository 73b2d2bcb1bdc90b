// A field for people to invite: contacts by their name or username, and any other username.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { type NamedUser, type Person, toHandle, toKey, toUsername } from "../people/known-people.ts";
import { Avatar, usePeople } from "../people/people.tsx";
import { scoreName } from "../search/fuzzy.ts";
import { useView } from "../session/copy.ts";
import { useSession } from "../session/session.ts";
import { counted } from "../ui/format.ts";
import { IconButton } from "../ui/icons.tsx";
import { hasModifier } from "../ui/keys.ts";

const MAX_SHOWN = 40;
const PAGE = 100;
/** Between contacts that have the typed text and those that have its letters only. */
const TYPED_SCORE = 1.5;
const EXACT_SCORE = 5;

export interface Picked {
  /** Usernames. */
  names: readonly string[];
  typed: string;
}

export const NOBODY: Picked = { names: [], typed: "" };

/** Returns the usernames that were picked, and the one that is typed. */
export function listPicked({ names, typed }: Picked): readonly string[] {
  const name = toUsername(typed);
  return name === "" || hasName(names, name) ? names : [...names, name];
}

function toNamed(username: string): NamedUser {
  return { username, display_name: null, avatar_url: null };
}

function hasName(names: readonly string[], name: string): boolean {
  return names.some((each) => toKey(each) === toKey(name));
}

export function PeoplePicker(props: {
  picked: Picked;
  onChange: (picked: Picked) => void;
  /** Usernames that are not offered. */
  taken: readonly string[];
  /** Shown beside the field. */
  children?: ComponentChildren;
}) {
  const { picked, onChange } = props;
  const { names, typed } = picked;
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  const [isOpen, setOpen] = useState(false);
  /** The active option; -1 if there is none. */
  const [at, setAt] = useState(-1);
  const options = useOptions(toUsername(typed), [...names, ...props.taken]);
  const isShown = isOpen && options.length > 0;
  const current = Math.min(at, options.length - 1);
  // A contact's name must not be sent as the username of somebody else.
  const isUnclear = typed.trim() !== "" && options[0]?.person.contact && options[0].score < EXACT_SCORE;
  useLayoutEffect(() => {
    const why = "Choose a person from the list, or remove this text.";
    field.current!.setCustomValidity(isUnclear ? why : "");
  });
  const change = (next: Picked) => {
    onChange(next);
    setAt(next.typed === "" ? -1 : 0);
  };
  const pick = (username: string) => change({ names: listPicked({ names, typed: username }), typed: "" });
  const onKeyDown = (event: KeyboardEvent) => {
    const { key } = event;
    if (event.isComposing || hasModifier(event)) return;
    // Closed by a click elsewhere, it would move the button that is clicked.
    if (key === "Tab") return setOpen(false);
    if (key === "Backspace" && typed === "" && names.length > 0)
      onChange({ names: names.slice(0, -1), typed });
    else if ((key === "ArrowDown" || key === "ArrowUp") && options.length > 0) {
      setOpen(true);
      const isUp = key === "ArrowUp";
      setAt(isUp ? (current <= 0 ? options.length : current) - 1 : (current + 1) % options.length);
    } else if (key === "Enter" && (isShown ? current >= 0 : typed.trim() !== "")) {
      pick(isShown ? options[current]!.username : typed);
      setOpen(false);
    } else if (key === "Escape" && isShown) setOpen(false);
    else return;
    event.preventDefault();
  };
  return (
    <div class="labelled">
      <label for={`${id}-field`}>Invite</label>
      <PickedNames
        names={names}
        onRemove={(name) => {
          onChange({ names: names.filter((each) => each !== name), typed });
          field.current!.focus();
        }}
      />
      <div class="picker-row">
        <input
          ref={field}
          id={`${id}-field`}
          class="field"
          role="combobox"
          placeholder="Name or username"
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          value={typed}
          aria-expanded={isShown}
          aria-controls={isShown ? id : undefined}
          aria-autocomplete="list"
          aria-activedescendant={isShown && current >= 0 ? `${id}-${current}` : undefined}
          aria-describedby={`${id}-hint`}
          onInput={({ currentTarget }) => {
            change({ names, typed: currentTarget.value });
            setOpen(true);
          }}
          onClick={() => setOpen(true)}
          onKeyDown={onKeyDown}
        />
        {props.children}
      </div>
      {isShown && <Options id={id} options={options} current={current} onPick={pick} />}
      <span class="visually-hidden" role="status">
        {isShown && counted(options.length, "result", "results")}
      </span>
      <span id={`${id}-hint`} class="muted small">
        Only people who have you as a contact see the invitation.
      </span>
    </div>
  );
}

function PickedNames(props: { names: readonly string[]; onRemove: (name: string) => void }) {
  const people = usePeople();
  if (props.names.length === 0) return null;
  return (
    <ul class="draft-files" aria-label="People to invite">
      {props.names.map((username) => {
        const person = people.toPerson(toNamed(username));
        return (
          <li key={username} class="draft-file small">
            <span class="ellipsis" title={`@${username}`}>
              {person.name}
            </span>
            <IconButton
              icon="close"
              label={`Remove ${person.name}`}
              onClick={() => props.onRemove(username)}
            />
          </li>
        );
      })}
    </ul>
  );
}

interface Option {
  username: string;
  person: Person;
  score: number;
}

function Options(props: {
  id: string;
  options: readonly Option[];
  current: number;
  onPick: (username: string) => void;
}) {
  const { id, options, current } = props;
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => list.current!.children[current]?.scrollIntoView({ block: "nearest" }), [current]);
  return (
    <div ref={list} id={id} class="picker-list" role="listbox" aria-label="Suggestions">
      {options.map(({ username, person }, index) => (
        <div
          key={username}
          id={`${id}-${index}`}
          class="switcher-row"
          role="option"
          aria-selected={index === current}
          // The field keeps the focus.
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => props.onPick(username)}
        >
          <Avatar {...person} size="small" />
          <span class="ellipsis">{person.name}</span>
          <span class="muted small ellipsis">{person.contact ? toHandle(person) : "Not a contact"}</span>
        </div>
      ))}
    </div>
  );
}

/** Returns the contacts who match, best first, and the typed username. Without a text, all contacts by name. */
function useOptions(typed: string, taken: readonly string[]): readonly Option[] {
  const { sync } = useSession();
  const people = usePeople();
  const { items: contacts } = useView(sync.contacts());
  const blocked = useBlocked();
  return useMemo(() => {
    const used = new Set(taken.map(toKey));
    const key = toKey(typed);
    const options: Option[] = [];
    for (const { id, username } of contacts) {
      if (used.has(toKey(username)) || blocked.has(id)) continue;
      const person = people.toPerson(toNamed(username));
      const scores = [person.name, username].map((name) => scoreName(name, typed) ?? 0);
      const score = toKey(username) === key ? EXACT_SCORE : Math.max(...scores);
      if (score > 0) options.push({ username, person, score });
    }
    if (typed !== "" && !used.has(key) && options.every(({ score }) => score < EXACT_SCORE)) {
      const person = people.toPerson(toNamed(typed));
      options.push({ username: typed, person, score: TYPED_SCORE });
    }
    return options
      .sort((a, b) => b.score - a.score || a.person.name.localeCompare(b.person.name))
      .slice(0, MAX_SHOWN);
  }, [contacts, typed, taken.join("\n"), blocked, people.version]);
}

/** Returns the ids of blocked contacts, which only the server knows. On failure they are offered like others. */
function useBlocked(): ReadonlySet<string> {
  const { parley, can } = useSession();
  const [blocked, setBlocked] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    if (!can("contacts:read")) return;
    const controller = new AbortController();
    const read = async () => {
      const ids = new Set<string>();
      const list = parley.contacts.list({ active: false, limit: PAGE }, { signal: controller.signal });
      for await (const { id } of list) ids.add(id);
      setBlocked(ids);
    };
    read().catch(() => {});
    return () => controller.abort();
  }, [parley]);
  return blocked;
}
