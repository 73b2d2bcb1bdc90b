// Total storage, and the users who use most.
import { useEffect, useState } from "preact/hooks";
import type { Parley, User } from "../../../packages/parley-client/src/index.ts";
import { useSession } from "../session/session.ts";
import { formatSize } from "../ui/format.ts";
import { Reading } from "../ui/page-notes.tsx";
import { toUserPlace } from "./places.ts";
import { StorageUse } from "./storage-use.tsx";
import { type Column, Table } from "./table.tsx";

/** The API cannot sort by storage, so this reads up to this many users, newest first. */
const MAX_USERS = 2000;
const LARGEST = 5;

interface Largest {
  users: User[];
  /** Whether there were more users than that. */
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

/** `stored`: bytes of all users; null if unknown. */
export function StorageSection({ stored }: { stored: number | null }) {
  const { parley, endIfRefused } = useSession();
  const [largest, setLargest] = useState<Largest>();
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    const controller = new AbortController();
    readLargest(parley, controller.signal).then(setLargest, (error) => {
      if (controller.signal.aborted) return;
      setFailed(true);
      endIfRefused(error);
    });
    return () => controller.abort();
  }, [parley]);
  return (
    <section class="admin-section" aria-labelledby="storage">
      <h2 id="storage">Storage</h2>
      {stored !== null && <p>The files of all users take {formatSize(stored)}.</p>}
      {!largest && (failed ? <p class="failure">The users could not be read.</p> : <Reading />)}
      {largest && largest.users.length > 0 && (
        <Table label="Users with most storage" columns={COLUMNS} items={largest.users} isBusy={false} />
      )}
      {largest?.isCut && (
        <p class="muted small">These are the largest of the newest {MAX_USERS.toLocaleString()} users.</p>
      )}
    </section>
  );
}

async function readLargest(parley: Parley, signal: AbortSignal): Promise<Largest> {
  const all: User[] = [];
  for await (const user of parley.users.list({}, { signal })) {
    if (all.length === MAX_USERS) return { users: toLargest(all), isCut: true };
    all.push(user);
  }
  return { users: toLargest(all), isCut: false };
}

function toLargest(all: readonly User[]): User[] {
  return all
    .filter(({ storage }) => storage.used > 0)
    .sort((a, b) => b.storage.used - a.storage.used)
    .slice(0, LARGEST);
}
