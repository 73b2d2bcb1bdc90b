// The members of a group; admins also see who is invited and change roles.
import { useRef, useState } from "preact/hooks";
import type { Group, Member } from "../../../packages/parley-client/src/index.ts";
import { explain, isPassing, nameLimit } from "../failures.ts";
import { focusIfLost } from "../files/open-file.tsx";
import { type KnownPeople, toHandle, toUsername } from "../people/known-people.ts";
import { Avatar, usePeople } from "../people/people.tsx";
import { PersonDialog } from "../people/person-dialog.tsx";
import { useSession } from "../session/session.ts";
import { ConfirmDialog, Dialog } from "../ui/dialog.tsx";
import { Menu, MenuItem } from "../ui/menu.tsx";
import { useOneTabStop } from "../ui/one-tab-stop.ts";
import { PageFailure, Reading } from "../ui/page-notes.tsx";
import type { Pages } from "../ui/use-pages.ts";
import { listPicked, NOBODY, PeoplePicker } from "./people-picker.tsx";
import { useMembers } from "./use-groups.ts";

const ROLES = { admin: "Admin", member: "Member", invited: "Invited" };
const ORDER = Object.keys(ROLES);

export const GROUP_FULL = "A group cannot have this many members and invitations.";

export function Members({ group, onClose }: { group: Group; onClose: () => void }) {
  const pages = useMembers(group);
  const [removing, setRemoving] = useState<Member>();
  const [shown, show] = useState<Member>();
  const people = usePeople();
  const list = useRef<HTMLUListElement>(null);
  const { can } = useSession();
  const isAdmin = group.role === "admin" && can("groups:write");
  useOneTabStop(list, ".member");
  return (
    <>
      <Dialog title={`Members of ${group.name}`} onClose={onClose}>
        {group.description !== null && <p class="dialog-text group-description">{group.description}</p>}
        <InvitedBy group={group} />
        {isAdmin && <Invite group={group} pages={pages} />}
        {pages.loading && pages.items.length === 0 && <Reading />}
        <PageFailure pages={pages} />
        <ul class="members" tabIndex={-1} ref={list} aria-label="Members">
          {sortMembers(pages.items, people).map((member) => (
            <Row
              key={member.id}
              member={member}
              isAdmin={isAdmin}
              isAlone={group.member_count === 1}
              pages={pages}
              onShow={() => show(member)}
              onRemove={() => setRemoving(member)}
            />
          ))}
        </ul>
      </Dialog>
      {shown && <MemberDialog group={group} member={shown} onClose={() => show(undefined)} />}
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

/** Says who has invited the user. */
export function InvitedBy({ group: { invited_by: inviter } }: { group: Group }) {
  const people = usePeople();
  return inviter && <p class="dialog-text muted small">{people.toPerson(inviter).name} invited you</p>;
}

/** Sorts admins first, then members, then those invited. */
export function sortMembers(members: readonly Member[], people: KnownPeople): readonly Member[] {
  const toName = (member: Member) => people.toPerson(member).name;
  return members.toSorted(
    (a, b) => ORDER.indexOf(a.role) - ORDER.indexOf(b.role) || toName(a).localeCompare(toName(b)),
  );
}

/** Says who a member is, and how far they have read. */
export function MemberDialog(props: { group: Group; member: Member; onClose: () => void }) {
  const { group, member, onClose } = props;
  const { sync, jumps, me } = useSession();
  const { conversation_id } = group;
  const read = member.user_id === me.id ? undefined : member.read_message_id;
  const last = sync.conversation(conversation_id ?? "").getSnapshot().conversation?.last_message?.id;
  const isAll = last !== undefined && read != null && read >= last;
  const jump = (id: string) => {
    onClose();
    jumps.to({ id, conversation_id: conversation_id! }, group.id);
  };
  return (
    <PersonDialog who={member} role={ROLES[member.role]} onClose={onClose}>
      {isAll && <p class="muted">Has read all messages</p>}
      {!isAll && read && (
        <button type="button" class="button" onClick={() => jump(read)}>
          Show the last message read
        </button>
      )}
    </PersonDialog>
  );
}

function Invite({ group, pages }: { group: Group; pages: Pages<Member> }) {
  const { parley, people, say, endIfRefused } = useSession();
  const [picked, setPicked] = useState(NOBODY);
  const [failure, setFailure] = useState("");
  const [isBusy, setBusy] = useState(false);
  const waiting = listPicked(picked);
  const invite = async (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    setFailure("");
    const done: Member[] = [];
    const invited = new Set<string>();
    for (const username of waiting) {
      try {
        done.push(await parley.groups.inviteMember(group.id, { username }));
        invited.add(username);
      } catch (error) {
        setFailure(`${username}: ${explain(nameLimit(error, GROUP_FULL))}`);
        endIfRefused(error);
        // The others would wait as long, and fail too.
        if (isPassing(error)) break;
      }
    }
    pages.edit((items) => [...items.filter(({ id }) => done.every((each) => each.id !== id)), ...done]);
    for (const member of done) {
      const isInvited = member.role === "invited";
      say(`${people.toPerson(member).name} is ${isInvited ? "invited" : "already a member"}.`);
    }
    setPicked(({ names, typed }) => ({
      names: names.filter((name) => !invited.has(name)),
      typed: invited.has(toUsername(typed)) ? "" : typed,
    }));
    setBusy(false);
  };
  return (
    <form onSubmit={invite}>
      <PeoplePicker
        picked={picked}
        onChange={setPicked}
        taken={pages.items.flatMap(({ username }) => username ?? [])}
      >
        <button type="submit" class="button" disabled={isBusy || waiting.length === 0}>
          Invite
        </button>
      </PeoplePicker>
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
  onShow: () => void;
  onRemove: () => void;
}) {
  const { member, isAdmin, isAlone, pages, onRemove } = props;
  const { me } = useSession();
  const { name } = usePeople().toPerson(member);
  const isMe = member.user_id === me.id;
  const otherRole = member.role === "admin" ? "member" : "admin";
  const { changeRole, withdraw } = useRowActions(member, pages);
  return (
    <li class="member">
      <MemberText member={member} onShow={props.onShow} />
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

/** The name of a member and their role, as a button that says more. */
export function MemberText({ member, onShow }: { member: Member; onShow: () => void }) {
  const { me } = useSession();
  const person = usePeople().toPerson(member);
  const { name, isBot } = person;
  const handle = toHandle(person);
  return (
    <button type="button" class="member-text" onClick={onShow}>
      <Avatar {...person} />
      <span class="contact-text">
        <span class="contact-name">{member.user_id === me.id ? `${name} (you)` : name}</span>
        <span class="muted small ellipsis">
          {ROLES[member.role]}
          {isBot && " · Bot"}
          {handle && ` · ${handle}`}
        </span>
      </span>
    </button>
  );
}

function useRowActions(member: Member, pages: Pages<Member>) {
  const { parley, events, people, say, report } = useSession();
  const { name } = people.toPerson(member);
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
  const { name } = usePeople().toPerson(member);
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
