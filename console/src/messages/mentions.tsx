// Mentions: the list of members while the user types `@`, and whom a text mentions.
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import type { Member, Message } from "../../../packages/parley-client/src/index.ts";
import type { ConversationState } from "../../../packages/parley-sync/src/index.ts";
import { toHandle, toUser, type User } from "../people/known-people.ts";
import { Avatar, usePeople } from "../people/people.tsx";
import { scoreName } from "../search/fuzzy.ts";
import { useView } from "../session/copy.ts";
import { useSession } from "../session/session.ts";
import { counted } from "../ui/format.ts";
import { hasModifier } from "../ui/keys.ts";
import { parseText, type TextPart } from "./text.ts";

/** The most mentions of a message. */
const MAX_MENTIONS = 20;
const MAX_SHOWN = 8;
/** Matches what is being typed after an @, up to the caret. */
const TYPED = /(?<![\p{L}\p{N}])@([^\s@]{0,64})$/u;

/** Returns the users whom a text mentions, in this order. */
export function findMentioned(text: string, users: readonly User[]): User[] {
  if (!text.includes("@")) return [];
  const known = new Map(users.map((user) => [user.username.toLowerCase(), user]));
  const names = new Set(listMentions(parseText(text, [...known.keys()])));
  return [...names].flatMap((name) => known.get(name) ?? []).slice(0, MAX_MENTIONS);
}

/** Returns the ids that a message mentions after an edit. It keeps mentions that the text before did not show. */
export function listEdited(
  { text, mentions }: Message,
  mentioned: readonly User[],
  users: readonly User[],
): string[] {
  const ids = mentioned.map(({ id }) => id);
  const shown = new Set(findMentioned(text ?? "", users).map(({ id }) => id));
  const kept = mentions.filter((id) => !shown.has(id) || ids.includes(id));
  return [...new Set([...kept, ...ids])].slice(0, MAX_MENTIONS);
}

function* listMentions(parts: readonly TextPart[]): Generator<string> {
  for (const part of parts) {
    if (typeof part === "string") continue;
    if (part.kind === "mention") yield part.text.slice(1).toLowerCase();
    if ("parts" in part) yield* listMentions(part.parts);
  }
}

/** Returns those whom the user can mention. `isWanted`: whether to read members that the copy does not have. */
export function useMentionable(conversationId: string, isWanted: boolean): readonly User[] {
  const { sync, parley, me, can } = useSession();
  const state = useView(sync.conversation(conversationId));
  const [read, setRead] = useState<readonly Member[]>([]);
  const groupId = state.conversation?.group_id;
  const isMissing = isWanted && state.members === null && groupId && can("groups:read");
  useEffect(() => {
    if (!isMissing) return;
    const collect = async () => {
      const members: Member[] = [];
      for await (const member of parley.groups.listMembers(groupId)) members.push(member);
      setRead(members);
    };
    // Without an answer nobody is offered.
    collect().catch(() => {});
  }, [isMissing, groupId]);
  const { members, messages } = state;
  return useMemo(() => listUsers({ members: members ?? read, messages }, me.id), [members, read, messages]);
}

function listUsers(
  { members, messages }: Pick<ConversationState, "members" | "messages">,
  meId: string,
): User[] {
  const all = members?.length
    ? members.map((member) => (member.role === "invited" ? undefined : toUser(member)))
    : messages.map(({ sender }) => sender);
  const users = new Map(all.flatMap((user) => (user && user.id !== meId ? [[user.id, user]] : [])));
  return [...users.values()];
}

interface Typed {
  /** The offset of the @. */
  from: number;
  query: string;
}

export function useMentions(
  field: { current: HTMLTextAreaElement | null },
  users: readonly User[],
  onText: (text: string) => void,
) {
  const people = usePeople();
  const id = useId();
  const [typed, setTyped] = useState<Typed>();
  const [at, setAt] = useState(0);
  const { noteMention, onBeforeInput } = useSpareSpace(field);
  const found = useMemo(() => {
    if (!typed) return [];
    return users
      .map((user) => {
        const person = people.toPerson(user);
        const scores = [person.name, user.username].map((name) => scoreName(name, typed.query) ?? 0);
        return { user, person, score: Math.max(...scores) };
      })
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score || a.person.name.localeCompare(b.person.name))
      .slice(0, MAX_SHOWN);
  }, [typed, users, people.version]);
  const current = Math.min(at, found.length - 1);
  /** Reads what is before the caret. */
  const look = () => {
    const { value, selectionStart, selectionEnd } = field.current!;
    const match = selectionStart === selectionEnd && TYPED.exec(value.slice(0, selectionStart));
    const next = match ? { from: match.index, query: match[1]! } : undefined;
    if (next?.from === typed?.from && next?.query === typed?.query) return;
    setTyped(next);
    setAt(0);
  };
  const choose = ({ username }: User) => {
    const { current: element } = field;
    element!.setRangeText(`@${username} `, typed!.from, element!.selectionStart, "end");
    noteMention();
    onText(element!.value);
    setTyped(undefined);
    element!.focus();
  };
  /** Returns whether the key was for the list. */
  const onKeyDown = (event: KeyboardEvent): boolean => {
    const { key } = event;
    if (found.length === 0 || event.shiftKey || hasModifier(event)) return false;
    if (key === "ArrowDown") setAt((current + 1) % found.length);
    else if (key === "ArrowUp") setAt((current + found.length - 1) % found.length);
    else if (key === "Enter" || key === "Tab") choose(found[current]!.user);
    else if (key === "Escape") setTyped(undefined);
    else return false;
    return true;
  };
  const shown = found.length > 0 && (
    <div id={id} class="mention-list" role="listbox" aria-label="Members to mention">
      {found.map(({ user, person }, index) => (
        <div
          key={user.id}
          id={`${id}-${index}`}
          class="switcher-row"
          role="option"
          aria-selected={index === current}
          // The field keeps the focus.
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => choose(user)}
        >
          <Avatar {...person} size="small" />
          <span class="ellipsis">{person.name}</span>
          <span class="muted small ellipsis">{toHandle(person)}</span>
        </div>
      ))}
    </div>
  );
  const list = (
    <>
      {shown}
      <span class="visually-hidden" role="status">
        {typed && counted(found.length, "member", "members")}
      </span>
    </>
  );
  return {
    list,
    attributes: {
      "aria-autocomplete": "list",
      "aria-controls": shown ? id : undefined,
      "aria-activedescendant": shown ? `${id}-${current}` : undefined,
      onBeforeInput,
    } as const,
    look,
    onKeyDown,
    close: () => setTyped(undefined),
  };
}

/** Drops the first space typed after a chosen mention, which already ends with one. */
function useSpareSpace(field: { current: HTMLTextAreaElement | null }) {
  /** The offset after the mention, until something is typed. */
  const at = useRef<number | undefined>(undefined);
  return {
    noteMention: () => {
      at.current = field.current!.selectionEnd;
    },
    onBeforeInput: (event: InputEvent) => {
      const { selectionStart, selectionEnd } = field.current!;
      const isThere = selectionStart === at.current && selectionEnd === selectionStart;
      at.current = undefined;
      if (isThere && event.data === " ") event.preventDefault();
    },
  };
}

/** Says whom the message will mention. */
export function MentionLine({ users }: { users: readonly User[] }) {
  const people = usePeople();
  if (users.length === 0) return null;
  return (
    <p class="composer-mentions muted small">
      Mentions <strong class="mention">{users.map((user) => people.toPerson(user).name).join(", ")}</strong>
    </p>
  );
}
