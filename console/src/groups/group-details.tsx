import type { Group } from "../../../client/src/index.ts";
import { SettingsFields } from "../messages/conversation-settings.tsx";
import { Avatar } from "../people/people.tsx";
import { counted } from "../ui/format.ts";
import { PageFailure, Reading } from "../ui/page-notes.tsx";
import { MemberText, sortMembers } from "./members.tsx";
import { useMembers } from "./use-groups.ts";

/** The details that a wide window shows beside the conversation of a group. */
export function GroupDetails({ group }: { group: Group }) {
  return (
    <aside class="details" aria-label={`About ${group.name}`}>
      <div class="details-head">
        <Avatar name={group.name} seed={group.id} isGroup size="large" />
        <strong>{group.name}</strong>
        <span class="muted small">{counted(group.member_count, "member", "members")}</span>
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
  return (
    <>
      {pages.loading && pages.items.length === 0 && <Reading />}
      <PageFailure pages={pages} />
      <ul class="members">
        {sortMembers(pages.items).map((member) => (
          <li key={member.id} class="member">
            <MemberText member={member} />
          </li>
        ))}
      </ul>
    </>
  );
}
