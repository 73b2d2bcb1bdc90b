// The files and groups of the user whose page is open.
import type { User, UserFile, UserGroup } from "../../../packages/parley-client/src/index.ts";
import { visible } from "../people/known-people.ts";
import { useSession } from "../session/session.ts";
import { counted, formatSize } from "../ui/format.ts";
import { type Pages, usePages } from "../ui/use-pages.ts";
import { Badge, More, Time } from "./parts.tsx";
import { type Column, Table } from "./table.tsx";

const FEW = 10;

export function UserFiles({ user }: { user: User }) {
  const { parley } = useSession();
  const pages = usePages<UserFile>(user.id, (after, signal) =>
    parley.users.listFiles(user.id, { limit: FEW, ...(after && { starting_after: after }) }, { signal }),
  );
  const columns: Column<UserFile>[] = [
    {
      label: "File",
      kind: "name",
      cell: ({ filename, uploader_id }) => (
        <>
          {filename} {uploader_id !== user.id && <Badge tone="plain">Received</Badge>}
        </>
      ),
    },
    { label: "Size", kind: "number", cell: ({ file_size }) => formatSize(file_size) },
    { label: "Created", cell: ({ created_at }) => <Time seconds={created_at} /> },
  ];
  return <UserList what="Files" user={user} pages={pages} columns={columns} />;
}

const GROUP_COLUMNS: readonly Column<UserGroup>[] = [
  { label: "Group", kind: "name", cell: ({ name }) => visible(name) || "Unnamed" },
  { label: "Role", cell: ({ role }) => (role === "admin" ? "Admin" : "Member") },
  { label: "Members", cell: ({ member_count: count }) => counted(count, "member", "members") },
];

export function UserGroups({ user }: { user: User }) {
  const { parley } = useSession();
  const pages = usePages<UserGroup>(user.id, (after, signal) =>
    parley.users.listGroups(user.id, { limit: FEW, ...(after && { starting_after: after }) }, { signal }),
  );
  return <UserList what="Groups" user={user} pages={pages} columns={GROUP_COLUMNS} />;
}

function UserList<Item extends { id: string }>(props: {
  what: string;
  user: User;
  pages: Pages<Item>;
  columns: readonly Column<Item>[];
}) {
  const { what, pages } = props;
  const { items, current, failure } = pages;
  return (
    <section class="admin-section" aria-labelledby={`user-${what}`}>
      <h2 id={`user-${what}`}>{what}</h2>
      {items.length > 0 && (
        <Table
          label={`${what} of ${props.user.username}`}
          columns={props.columns}
          items={items}
          isBusy={!current}
        />
      )}
      {items.length === 0 && current && !failure && <p class="muted">No {what.toLowerCase()}.</p>}
      <More pages={pages} />
    </section>
  );
}
