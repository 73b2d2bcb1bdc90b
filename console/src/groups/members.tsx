// The members of a group; admins also see who is invited and change roles.
import { useRef, useState } from "preact/hooks";
import type { Group, Member } from "../../../client/src/index.ts";
import { explain, nameLimit } from "../failures.ts";
import { focusIfLost } from "../files/open-file.tsx";
import { Avatar } from "../people/people.tsx";
import { useSession } from "../session/session.ts";
import { ConfirmDialog, Dialog } from "../ui/dialog.tsx";
import { Menu, MenuItem } from "../ui/menu.tsx";
import { useOneTabStop } from "../ui/one-tab-stop.ts";
import { PageFailure, Reading } from "../ui/page-notes.tsx";
import type { Pages } from "../ui/use-pages.ts";
import { NameInput } from "./name-input.tsx";
import { toMemberName } from "./texts.ts";
import { useMembers } from "./use-groups.ts";

const ROLES = { admin: "Admin", member: "Member", invited: "Invited" };
const ORDER = Object.keys(ROLES);

export const GROUP_FULL = "A group cannot have this many members and invitations.";

export function Members({ group, onClose }: { group: Group; onClose: () => void }) {
  const pages = useMembers(group);
  const [removing, setRemoving] = useState<Member>();
  const list = useRef<HTMLUListElement>(null);
  const { can } = useSession();
  const isAdmin = group.role === "admin" && can("groups:write");
  useOneTabStop(list, ".member");
  return (
    <>
      <Dialog title={`Members of ${group.name}`} onClose={onClose}>
        {group.description !== null && <p class="dialog-text group-description">{group.description}</p>}
        {isAdmin && <Invite group={group} pages={pages} />}
        {pages.loading && pages.items.length === 0 && <Reading />}
        <PageFailure pages={pages} />
        <ul class="members" tabIndex={-1} ref={list} aria-label="Members">
          {sortMembers(pages.items).map((member) => (
            <Row
              key={member.id}
              member={member}
              isAdmin={isAdmin}
              isAlone={group.member_count === 1}
              pages={pages}
              onRemove={() => setRemoving(member)}
            />
          ))}
        </ul>
      </Dialog>
      {removing && (
        <Remove
          group={group}
          member={removing}
          onClose={() => {
            setRemoving(undefined);
            focusIfLost(() => list.current);
          }}
        />
      )}
    </>
  );
}

/** Sorts admins first, then members, then those invited. */
export function sortMembers(members: readonly Member[]): readonly Member[] {
  return members.toSorted(
    (a, b) => ORDER.indexOf(a.role) - ORDER.indexOf(b.role) || toMemberName(a).localeCompare(toMemberName(b)),
  );
}

function Invite({ group, pages }: { group: Group; pages: Pages<Member> }) {
  const { parley, say, endIfRefused } = useSession();
  const [typed, setTyped] = useState("");
  const [failure, setFailure] = useState("");
  const [isBusy, setBusy] = useState(false);
  const invite = async (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    setFailure("");
    try {
      const member = await parley.groups.inviteMember(group.id, { username: typed.trim() });
      pages.edit((items) => [...items.filter(({ id }) => id !== member.id), member]);
      const isInvited = member.role === "invited";
      say(`${toMemberName(member)} is ${isInvited ? "invited" : "already a member"}.`);
      setTyped("");
    } catch (error) {
      setFailure(explain(nameLimit(error, GROUP_FULL)));
      endIfRefused(error);
    }
    setBusy(false);
  };
  return (
    <form onSubmit={invite}>
      <div class="invite-row">
        <NameInput value={typed} onInput={setTyped} />
        <button type="submit" class="button" disabled={isBusy || typed.trim() === ""}>
          Invite
        </button>
      </div>
      <p class="failure" role="alert">
        {failure}
      </p>
    </form>
  );
}

function Row(props: {
  member: Member;
  isAdmin: boolean;
  /** Whether this is the only member, who stays an admin. */
  isAlone: boolean;
  pages: Pages<Member>;
  onRemove: () => void;
}) {
  const { member, isAdmin, isAlone, pages, onRemove } = props;
  const { me } = useSession();
  const name = toMemberName(member);
  const isMe = member.user_id === me.id;
  const otherRole = member.role === "admin" ? "member" : "admin";
  const { changeRole, withdraw } = useRowActions(member, pages);
  return (
    <li class="member">
      <MemberText member={member} />
      {isAdmin && member.role === "invited" && (
        <button type="button" class="button" aria-label={`Withdraw: ${name}`} onClick={withdraw}>
          Withdraw
        </button>
      )}
      {isAdmin && member.role !== "invited" && !isAlone && (
        <Menu label={`Actions: ${name}`} isInList>
          <MenuItem icon="shield" onSelect={() => changeRole(otherRole)}>
            Make {otherRole}
          </MenuItem>
          {!isMe && (
            <MenuItem icon="trash" danger onSelect={onRemove}>
              Remove
            </MenuItem>
          )}
        </Menu>
      )}
    </li>
  );
}

/** The name of a member and their role. */
export function MemberText({ member }: { member: Member }) {
  const { me } = useSession();
  const name = toMemberName(member);
  return (
    <>
      <Avatar name={name} seed={member.user_id ?? name} />
      <span class="contact-text">
        <span class="contact-name">{member.user_id === me.id ? `${name} (you)` : name}</span>
        <span class="muted small ellipsis">
          {ROLES[member.role]}
          {member.username !== null && member.username !== name && ` · @${member.username}`}
        </span>
      </span>
    </>
  );
}

function useRowActions(member: Member, pages: Pages<Member>) {
  const { parley, events, say, report } = useSession();
  const name = toMemberName(member);
  return {
    changeRole: async (role: "admin" | "member") => {
      try {
        await events.publishResult(
          () => parley.groups.updateMember(member.group_id, member.id, { role }),
          (payload) => ({ type: "member.updated", payload }),
        );
      } catch (error) {
        report(`The role of ${name} was not changed.`, error);
      }
    },
    withdraw: async () => {
      try {
        await parley.groups.removeMember(member.group_id, member.id);
        pages.edit((items) => items.filter(({ id }) => id !== member.id));
        say(`The invitation of ${name} was withdrawn.`);
        focusIfLost(() => document.querySelector(".members"));
      } catch (error) {
        report(`The invitation of ${name} was not withdrawn.`, error);
      }
    },
  };
}

function Remove(props: { group: Group; member: Member; onClose: () => void }) {
  const { group, member } = props;
  const { parley, events, report } = useSession();
  const { id, group_id, user_id } = member;
  const name = toMemberName(member);
  const remove = async () => {
    try {
      await parley.groups.removeMember(group_id, id);
      events.publish({ type: "member.deleted", payload: { id, group_id, user_id: user_id! } });
    } catch (error) {
      report(`${name} was not removed.`, error);
    }
  };
  return (
    <ConfirmDialog
      title={`Remove ${name}?`}
      text={`${name} loses all messages and files of ${group.name}. What they wrote stays for the others.`}
      action="Remove"
      onConfirm={remove}
      onClose={props.onClose}
    />
  );
}
