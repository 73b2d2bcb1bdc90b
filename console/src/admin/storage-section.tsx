// How much users store, and who stores most.
import { useEffect, useState } from "preact/hooks";
import type { Parley, User } from "../../../client/src/index.ts";
import { counted, formatSize } from "../format.ts";
import { Reading } from "../page-notes.tsx";
import { useSession } from "../session.ts";
import { toUserPlace } from "./places.ts";
import { StorageUse } from "./storage-use.tsx";
import { type Column, Table } from "./table.tsx";

/** The API has no sum, so this reads users, newest first, up to so many. */
const MAX_USERS = 2000;
const LARGEST = 5;

interface Storage {
  users: number;
  used: number;
  largest: User[];
  /** Whether there are more users than were read. */
  isCut: boolean;
}

const COLUMNS: readonly Column<User>[] = [
  {
    label: "User",
    kind: "name",
    cell: ({ id, username }) => (
      <a class="row-link ellipsis" href={toUserPlace(id)}>
        {username}
      </a>
    ),
  },
  { label: "Storage", cell: ({ storage }) => <StorageUse {...storage} /> },
];

export function StorageSection() {
  const { parley, endIfRefused } = useSession();
  const [storage, setStorage] = useState<Storage>();
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    const controller = new AbortController();
    readStorage(parley, controller.signal).then(setStorage, (error) => {
      if (controller.signal.aborted) return;
      setFailed(true);
      endIfRefused(error);
    });
    return () => controller.abort();
  }, [parley]);
  return (
    <section class="admin-section" aria-labelledby="storage">
      <h2 id="storage">Storage</h2>
      {!storage && (failed ? <p class="failure">The users could not be read.</p> : <Reading />)}
      {storage && (
        <p>
          {counted(storage.users, "user stores", "users store")} {formatSize(storage.used)} in all
          {storage.isCut && `. Only the newest ${MAX_USERS.toLocaleString()} users are counted`}.
        </p>
      )}
      {storage && storage.largest.length > 0 && (
        <Table label="Users with most storage" columns={COLUMNS} items={storage.largest} isBusy={false} />
      )}
    </section>
  );
}

async function readStorage(parley: Parley, signal: AbortSignal): Promise<Storage> {
  const all: User[] = [];
  for await (const user of parley.users.list({}, { signal })) {
    if (all.length === MAX_USERS) return sum(all, true);
    all.push(user);
  }
  return sum(all, false);
}

function sum(all: readonly User[], isCut: boolean): Storage {
  const largest = all
    .filter(({ storage }) => storage.used > 0)
    .sort((a, b) => b.storage.used - a.storage.used)
    .slice(0, LARGEST);
  return { users: all.length, used: all.reduce((sum, { storage }) => sum + storage.used, 0), largest, isCut };
}
