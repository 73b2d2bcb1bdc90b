// The messages that a search has found, as a list box.
import { useId, useMemo } from "preact/hooks";
import type { Conversation } from "../../../packages/parley-client/src/index.ts";
import { toSpeaker } from "../groups/texts.ts";
import type { KnownPeople } from "../people/known-people.ts";
import { Avatar, usePeople } from "../people/people.tsx";
import { NOTES } from "../place.ts";
import { useSession } from "../session/session.ts";
import { formatFullTime, formatTime } from "../ui/format.ts";
import { Icon } from "../ui/icons.tsx";
import { ListBox } from "../ui/list-box.tsx";
import type { Pages } from "../ui/use-pages.ts";
import { type Part, toExcerpt } from "./marks.ts";
import type { Hit } from "./use-found.ts";

const ROW = 68;

export function FoundList(props: {
  pages: Pages<Hit>;
  q: string;
  /** Whether all are of the open conversation: entries then show the sender. */
  isHere: boolean;
  /** The id of the message chosen last. */
  chosenId: string;
  onOpen: (hit: Hit) => void;
}) {
  const { pages, q, chosenId } = props;
  // A prefix, because the messages themselves use their ids on the page.
  const prefix = useId();
  return (
    <ListBox
      key={q}
      label="Messages found"
      pages={pages}
      rowHeight={ROW}
      toId={({ id }) => prefix + id}
      openId={prefix + chosenId}
      onOpen={props.onOpen}
    >
      {(hit) => <Row hit={hit} q={q} isHere={props.isHere} />}
    </ListBox>
  );
}

function Row({ hit, q, isHere }: { hit: Hit; q: string; isHere: boolean }) {
  const { me } = useSession();
  const people = usePeople();
  const { message, conversation } = hit;
  const excerpt = useMemo(() => toExcerpt(message.text ?? "", q), [message.text, q]);
  return (
    <>
      {isHere ? <Avatar {...people.toPerson(message.sender)} /> : <ConversationAvatar hit={hit} />}
      <span class="contact-text">
        <span class="contact-line">
          <span class="contact-name">
            {isHere ? toSenderName(hit, me.id, people) : toConversationName(conversation, people)}
          </span>
          <time class="muted small" title={formatFullTime(message.created_at)}>
            {formatTime(message.created_at)}
          </time>
        </span>
        <span class="found-text muted small">
          {!isHere && toSpeaker(conversation, message, me.id, people)}
          <bdi>{excerpt.map(toPart)}</bdi>
        </span>
      </span>
    </>
  );
}

function toPart({ text, isMatch }: Part, at: number) {
  return isMatch ? <mark key={at}>{text}</mark> : text;
}

function ConversationAvatar({ hit }: { hit: Hit }) {
  const people = usePeople();
  if (hit.conversation.kind !== "self") return <Avatar {...people.toFace(hit.conversation)} />;
  return (
    <span class="avatar notes" aria-hidden="true">
      <Icon name="notes" />
    </span>
  );
}

export function toConversationName(conversation: Hit["conversation"], people: KnownPeople): string {
  return conversation.kind === "self" ? "Notes to self" : people.toFace(conversation).name;
}

function toSenderName({ message: { sender } }: Hit, meId: string, people: KnownPeople): string {
  return sender?.id === meId ? "You" : people.toPerson(sender).name;
}

/** Returns the place of a hit's conversation. */
export function toHitPlace({ contact_id, group_id }: Pick<Conversation, "contact_id" | "group_id">): string {
  return contact_id ?? group_id ?? NOTES;
}
