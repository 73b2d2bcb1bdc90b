// All users, newest first, and creating one.
import { useState } from "preact/hooks";
import type { User } from "../../../packages/parley-client/src/index.ts";
import { LABELS, NO_FAILURE, toFormFailure } from "../failures.ts";
import { visible } from "../people/known-people.ts";
import { Avatar, usePeople } from "../people/people.tsx";
import { openPlace } from "../place.ts";
import { SearchField } from "../search/search-field.tsx";
import { useSession } from "../session/session.ts";
import { Dialog, FormButtons } from "../ui/dialog.tsx";
import { Icon } from "../ui/icons.tsx";
import { toCount } from "../ui/page-notes.tsx";
import { TextField } from "../ui/text-field.tsx";
import { readFound, usePages } from "../ui/use-pages.ts";
import { useSettled } from "../ui/use-settled.ts";
import { Badge, Empty, More, PageHead, Time } from "./parts.tsx";
import { parsePlace, toUserPlace } from "./places.ts";
import { StorageUse } from "./storage-use.tsx";
import { type Column, Table } from "./table.tsx";

const PAGE = 50;
/** The most characters of a username. */
const MAX_USERNAME = 128;

function UserAvatar({ user }: { user: User }) {
  return <Avatar {...usePeople().toPerson(user)} size="small" />;
}

const COLUMNS: readonly Column<User>[] = [
  {
    label: "User",
    kind: "name",
    cell: (user) => (
      <a class="row-link with-avatar" href={toUserPlace(user.id)}>
        <UserAvatar user={user} />
        <span class="two-lines">
          <span class="ellipsis">{user.username}</span>
          <span class="ellipsis muted small">{visible(user.display_name)}</span>
        </span>
        {user.paused_at !== null && <Badge tone="warn">Paused</Badge>}
      </a>
    ),
  },
  { label: "Storage", cell: ({ storage }) => <StorageUse {...storage} /> },
  { label: "Last seen", cell: ({ last_active_at: at }) => <LastSeen at={at} /> },
  { label: "Created", kind: "minor", cell: ({ created_at }) => <Time seconds={created_at} /> },
];

export function LastSeen({ at }: { at: number | null }) {
  return at === null ? <span class="muted">Never</span> : <Time seconds={at} />;
}

export function UsersPage() {
  const { parley } = useSession();
  const [typed, setTyped] = useState("");
  const [isCreating, setCreating] = useState(parsePlace(location.hash.slice(1)).query.has("new"));
  const q = useSettled(typed.trim());
  const users = usePages<User>(q, (after, signal) => {
    const query = { limit: PAGE, ...(q && { q }), ...(after && { starting_after: after }) };
    return readFound((query) => parley.users.list(query, { signal }), query);
  });
  const create = () => setCreating(true);
  return (
    <>
      <PageHead title="Users">
        <button type="button" class="button primary" onClick={create}>
          <Icon name="add" />
          Create a user
        </button>
      </PageHead>
      <div class="page-tools">
        <SearchField
          label="Find users"
          placeholder="Find by name"
          maxLength={MAX_USERNAME}
          value={typed}
          onType={setTyped}
        />
        <span class="muted small" role="status">
          {q && toCount(users)}
        </span>
      </div>
      {users.items.length > 0 && (
        <Table label="Users" columns={COLUMNS} items={users.items} isBusy={!users.current} />
      )}
      {users.items.length === 0 && users.current && !users.failure && <NoUsers q={q} onCreate={create} />}
      <More pages={users} />
      {isCreating && <CreateUser onClose={() => setCreating(false)} />}
    </>
  );
}

function NoUsers({ q, onCreate }: { q: string; onCreate: () => void }) {
  return (
    <Empty
      icon="people"
      title={`No user matches “${q}”`}
      text="The search finds the beginnings of words in usernames and display names."
    >
      <button type="button" class="button" onClick={onCreate}>
        Create a user
      </button>
    </Empty>
  );
}

function CreateUser({ onClose }: { onClose: () => void }) {
  const { parley, say, endIfRefused } = useSession();
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState(NO_FAILURE);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string) => String(fields.get(name)).trim();
    setBusy(true);
    try {
      const user = await parley.users.create({
        username: text("username"),
        phone_number: text("phone_number") || null,
        display_name: text("display_name") || null,
      });
      say(`The user ${user.username} was created. Give them a token to sign in with.`);
      onClose();
      openPlace(toUserPlace(user.id).slice(1));
    } catch (error) {
      setBusy(false);
      setFailure(toFormFailure(error));
      endIfRefused(error);
    }
  };
  const toFailure = (name: string) => (failure.param === name ? failure.text : "");
  return (
    <Dialog title="Create a user" onClose={onClose}>
      <form onSubmit={submit}>
        <TextField
          name="username"
          label={LABELS.username}
          hint="It cannot be changed later."
          maxLength={MAX_USERNAME}
          failure={toFailure("username")}
          required
          autofocus
        />
        <TextField
          name="phone_number"
          label={LABELS.phone_number}
          hint="Optional"
          inputMode="tel"
          failure={toFailure("phone_number")}
        />
        <TextField
          name="display_name"
          label={LABELS.display_name}
          hint="Optional"
          failure={toFailure("display_name")}
        />
        <p class="failure" role="alert">
          {failure.param in LABELS ? "" : failure.text}
        </p>
        {failure.existing && (
          <a class="button" href={toUserPlace(failure.existing)} onClick={onClose}>
            Open the user
          </a>
        )}
        <FormButtons submit="Create" isBusy={isBusy} onClose={onClose} />
      </form>
    </Dialog>
  );
}
