import { useEffect } from "preact/hooks";
import type { Group, Member } from "../../../packages/parley-client/src/index.ts";
import { toUser } from "../people/known-people.ts";
import type { Change } from "../session/changes.ts";
import { useChanges, useSession } from "../session/session.ts";
import { type Pages, usePages } from "../ui/use-pages.ts";
import { useWatched } from "../ui/use-redraw.ts";
import type { Groups } from "./groups.ts";

const PAGE = 100;

type MemberChange = Extract<Change, { type: `member.${string}` }>;

/** Returns groups and invitations, kept up to date. */
export function useGroups(): Groups["state"] {
  const { groups } = useSession();
  useWatched(groups);
  return groups.state;
}

/** Returns all members, kept up to date; for an admin also those invited. */
export function useMembers({ id, role }: Group): Pages<Member> {
  const { parley, people } = useSession();
  const pages = usePages<Member>(`${id} ${role}`, async (after, signal) => {
    const query = { limit: PAGE, ...(after && { starting_after: after }) };
    const page = await parley.groups.listMembers(id, query, { signal });
    people.learn(page.data.map(toUser));
    return page;
  });
  useEffect(() => pages.more());
  // There is no event for invitations by other admins.
  useEffect(() => {
    addEventListener("focus", pages.reload);
    return () => removeEventListener("focus", pages.reload);
  }, []);
  useChanges((change) => {
    if (change.type === "missed") pages.reload();
    if (!isAboutMember(change) || change.payload.group_id !== id) return;
    const others = (items: Member[]) => items.filter((each) => each.id !== change.payload.id);
    if (change.type === "member.deleted") pages.edit(others);
    else pages.edit((items) => [...others(items), change.payload]);
  });
  return pages;
}

function isAboutMember(change: Change): change is MemberChange {
  return change.type.startsWith("member.");
}
