// Fields for the name of a user.
import { useEffect, useId, useState } from "preact/hooks";
import type { Parley, User } from "../../../packages/parley-client/src/index.ts";
import { explain } from "../failures.ts";
import { SearchField } from "../search/search-field.tsx";
import { useSession } from "../session/session.ts";
import { PageFailure } from "../ui/page-notes.tsx";
import { useSettled } from "../ui/use-settled.ts";

export type Named = Pick<User, "id" | "username">;

const SUGGESTIONS = 8;
const MAX_USERNAME = 128;

/** Finds a user by username. An id is returned as it is: an erased user can be named only by id. */
export async function findUser(
  parley: Parley,
  name: string,
  signal?: AbortSignal,
): Promise<Named | undefined> {
  if (/^usr_\w+$/.test(name)) return { id: name, username: name };
  return (await parley.users.list({ username: name }, { signal })).data[0];
}

/** Suggests usernames for a field. Set its `list` to the returned id. */
export function useSuggestions(typed: string): { listId: string; users: readonly User[] } {
  const { parley, endIfRefused } = useSession();
  const listId = useId();
  const [users, setUsers] = useState<readonly User[]>([]);
  const q = useSettled(typed.trim());
  useEffect(() => {
    if (q === "") return setUsers([]);
    const controller = new AbortController();
    const { signal } = controller;
    parley.users.list({ q, limit: SUGGESTIONS }, { signal }).then(
      ({ data }) => setUsers(data),
      (error) => signal.aborted || endIfRefused(error),
    );
    return () => controller.abort();
  }, [q, parley]);
  return { listId, users };
}

export function Suggestions({ id, users }: { id: string; users: readonly User[] }) {
  return (
    <datalist id={id}>
      {users.map((user) => (
        <option key={user.id} value={user.username} />
      ))}
    </datalist>
  );
}

/** Null: no user has the name. Undefined: the name is empty, or the user could not be read. */
export type OnChoose = (user: Named | null | undefined, name: string) => void;

/** Selects a user once the complete username is typed. */
export function UserFilter(props: {
  label: string;
  placeholder: string;
  initial?: string;
  onChoose: OnChoose;
}) {
  const { parley, endIfRefused } = useSession();
  const [typed, setTyped] = useState(props.initial ?? "");
  const [isUnknown, setUnknown] = useState(false);
  const [failure, setFailure] = useState("");
  const [attempt, setAttempt] = useState(0);
  const { listId, users } = useSuggestions(typed);
  const name = useSettled(typed.trim());
  useEffect(() => {
    setUnknown(false);
    setFailure("");
    if (name === "") return props.onChoose(undefined, "");
    const controller = new AbortController();
    const { signal } = controller;
    findUser(parley, name, signal).then(
      (user) => {
        setUnknown(user === undefined);
        props.onChoose(user ?? null, user?.username ?? name);
      },
      (error) => {
        if (signal.aborted) return;
        setFailure(explain(error));
        props.onChoose(undefined, name);
        endIfRefused(error);
      },
    );
    return () => controller.abort();
  }, [name, attempt]);
  return (
    <div class="user-filter">
      <SearchField
        label={props.label}
        placeholder={props.placeholder}
        maxLength={MAX_USERNAME}
        list={listId}
        value={typed}
        onType={setTyped}
      />
      <Suggestions id={listId} users={users} />
      <span class="muted small" role="status">
        {isUnknown && "No user has this username."}
      </span>
      <PageFailure pages={{ failure, retry: () => setAttempt(attempt + 1) }} />
    </div>
  );
}
