import { useEffect, useRef } from "preact/hooks";
import { Conversation } from "../messages/conversation.tsx";
import { leaveForGood } from "../place.ts";
import { useSession } from "../session/session.ts";
import { NotAllowed, PageFailure, Reading } from "../ui/page-notes.tsx";
import { GroupDetails } from "./group-details.tsx";
import { GroupHeader } from "./group-header.tsx";
import { OpenInvitation } from "./invitations.tsx";
import { useGroups } from "./use-groups.ts";

/** The group that the URL names: its conversation, or its invitation. */
export function OpenGroup(props: { id: string; onBack: () => void }) {
  const { can } = useSession();
  return can("groups:read") ? <Loaded {...props} /> : <NotAllowed what="see groups" />;
}

function Loaded({ id, onBack }: { id: string; onBack: () => void }) {
  const { groups, say } = useSession();
  const { all, isLoaded, failure } = useGroups();
  const group = all.find((each) => each.id === id);
  const last = useRef(group);
  useEffect(() => {
    if (group) last.current = group;
    else if (isLoaded && location.hash === `#${id}`) {
      const { name, role } = last.current ?? {};
      if (!name) say("This group does not exist, or you are not a member.");
      else if (role === "invited") say(`The invitation to ${name} has ended.`);
      else say(`You are not a member of ${name} any more.`);
      leaveForGood();
    }
  }, [group, isLoaded, id, say]);
  if (!group) return failure ? <PageFailure pages={{ failure, retry: () => groups.load() }} /> : <Reading />;
  if (group.conversation_id === null) return <OpenInvitation group={group} onBack={onBack} />;
  return (
    <Conversation
      key={group.conversation_id}
      id={group.conversation_id}
      name={group.name}
      kind="group"
      header={(tabs) => <GroupHeader group={group} onBack={onBack} tabs={tabs} />}
      details={<GroupDetails group={group} />}
    />
  );
}
