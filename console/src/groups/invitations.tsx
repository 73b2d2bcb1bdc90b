// Invitations: the list above the conversations, and an open one.
import { useRef, useState } from "preact/hooks";
import type { Group } from "../../../packages/parley-client/src/index.ts";
import { focusIfLost } from "../files/open-file.tsx";
import { Header } from "../messages/conversation-header.tsx";
import { Avatar, usePeople } from "../people/people.tsx";
import { leaveForGood, openPlace } from "../place.ts";
import { useSession } from "../session/session.ts";
import { counted } from "../ui/format.ts";
import { useOneTabStop } from "../ui/one-tab-stop.ts";
import { PageFailure, toNotAllowed } from "../ui/page-notes.tsx";
import { toGroupFace, toInviter } from "./texts.ts";
import { useGroups } from "./use-groups.ts";

export function Invitations() {
  const { groups } = useSession();
  const { all, failure } = useGroups();
  const invitations = all.filter(({ role }) => role === "invited");
  return (
    <>
      {invitations.length > 0 && <InvitationList invitations={invitations} />}
      <PageFailure pages={{ failure, retry: () => groups.load() }} />
    </>
  );
}

function InvitationList({ invitations }: { invitations: readonly Group[] }) {
  const list = useRef<HTMLUListElement>(null);
  const people = usePeople();
  useOneTabStop(list, ".invitation");
  return (
    <ul ref={list} class="invitations" aria-label="Invitations">
      {invitations.map((group) => (
        <li key={group.id} class="invitation">
          <Avatar {...toGroupFace(group)} />
          <span class="contact-text">
            <a class="contact-name" href={`#${group.id}`}>
              {group.name}
            </a>
            <span class="muted small">{toInviter(group, people)} invited you</span>
          </span>
          <Answers group={group} />
        </li>
      ))}
    </ul>
  );
}

function Answers({ group }: { group: Group }) {
  const { parley, events, say, report, can } = useSession();
  const [isBusy, setBusy] = useState(false);
  const { id, name } = group;
  const answer = async (doing: string, act: () => Promise<void>) => {
    setBusy(true);
    try {
      await act();
    } catch (error) {
      report(doing, error);
    }
    setBusy(false);
  };
  const join = () =>
    answer(`You could not join ${name}.`, async () => {
      const payload = await parley.groups.join(id);
      events.publish({ type: "group.created", payload });
      openPlace(id);
    });
  const decline = () =>
    answer("The invitation was not declined.", async () => {
      await parley.groups.leave(id);
      if (location.hash === `#${id}`) leaveForGood();
      events.publish({ type: "group.deleted", payload: { id, conversation_id: null } });
      say(`You declined the invitation to ${name}.`);
      focusIfLost(
        () => document.querySelector("[role=listbox]") ?? document.querySelector(".contacts input"),
      );
    });
  if (!can("groups:write")) return <p class="muted small">{toNotAllowed("answer invitations")}</p>;
  return (
    <span class="answers">
      <button
        type="button"
        class="button primary"
        aria-label={`Join ${name}`}
        disabled={isBusy}
        onClick={join}
      >
        Join
      </button>
      <button type="button" class="button" aria-label={`Decline ${name}`} disabled={isBusy} onClick={decline}>
        Decline
      </button>
    </span>
  );
}

/** What an invited user sees before joining. */
export function OpenInvitation({ group, onBack }: { group: Group; onBack: () => void }) {
  const people = usePeople();
  return (
    <section class="conversation" tabIndex={-1} aria-label={`Invitation: ${group.name}`}>
      <Header onBack={onBack}>
        <Avatar {...toGroupFace(group)} />
        <div class="conversation-title">
          <h1 class="name">{group.name}</h1>
          <span class="muted small">{counted(group.member_count, "member", "members")}</span>
        </div>
      </Header>
      <div class="files-empty">
        <h2>{toInviter(group, people)} invited you</h2>
        {group.description !== null && <p class="group-description">{group.description}</p>}
        <p class="muted">
          {group.history === "all"
            ? "You see all messages, including earlier ones."
            : "You see messages sent after you join."}
        </p>
        <Answers group={group} />
      </div>
    </section>
  );
}
