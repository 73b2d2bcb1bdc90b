import { useRef, useState } from "preact/hooks";
import type { Group, Member } from "../../../packages/parley-client/src/index.ts";
import { SettingsFields } from "../messages/conversation-settings.tsx";
import { Avatar, usePeople } from "../people/people.tsx";
import { counted } from "../ui/format.ts";
import { useOneTabStop } from "../ui/one-tab-stop.ts";
import { PageFailure, Reading } from "../ui/page-notes.tsx";
import { InvitedBy, MemberDialog, MemberText, sortMembers } from "./members.tsx";
import { toGroupFace } from "./texts.ts";
import { useMembers } from "./use-groups.ts";

/** The details that a wide window shows beside the conversation of a group. */
export function GroupDetails({ group }: { group: Group }) {
  return (
    <aside class="details" aria-label={`About ${group.name}`}>
      <div class="details-head">
        <Avatar {...toGroupFace(group)} size="large" />
        <strong>{group.name}</strong>
        <span class="muted small">{counted(group.member_count, "member", "members")}</span>
        <InvitedBy group={group} />
      </div>
      {group.description !== null && <p class="group-description">{group.description}</p>}
      <section class="details-part">
        <h2>Settings</h2>
        <SettingsFields id={group.conversation_id!} />
      </section>
      <section class="details-part">
        <h2>Members</h2>
        <MemberSection group={group} />
      </section>
    </aside>
  );
}

function MemberSection({ group }: { group: Group }) {
  const pages = useMembers(group);
  const people = usePeople();
  const [shown, show] = useState<Member>();
  const list = useRef<HTMLUListElement>(null);
  useOneTabStop(list, ".member");
  return (
    <>
      {pages.loading && pages.items.length === 0 && <Reading />}
      <PageFailure pages={pages} />
      <ul ref={list} class="members">
        {sortMembers(pages.items, people).map((member) => (
          <li key={member.id} class="member">
            <MemberText member={member} onShow={() => show(member)} />
          </li>
        ))}
      </ul>
      {shown && <MemberDialog group={group} member={shown} onClose={() => show(undefined)} />}
    </>
  );
}
