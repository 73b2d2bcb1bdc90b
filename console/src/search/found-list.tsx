// The messages that a search has found, as a list box.
import { useId, useMemo } from "preact/hooks";
import type { Conversation } from "../../../client/src/index.ts";
import { toSpeaker, toUserName } from "../groups/texts.ts";
import { Avatar, visible } from "../people/people.tsx";
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
  const { message, conversation } = hit;
  const excerpt = useMemo(() => toExcerpt(message.text ?? "", q), [message.text, q]);
  return (
    <>
      {isHere ? <SenderAvatar hit={hit} /> : <ConversationAvatar hit={hit} />}
      <span class="contact-text">
        <span class="contact-line">
          <span class="contact-name">{isHere ? toSenderName(hit, me.id) : toConversationName(hit)}</span>
          <time class="muted small" title={formatFullTime(message.created_at)}>
            {formatTime(message.created_at)}
          </time>
        </span>
        <span class="found-text muted small">
          {!isHere && toSpeaker(conversation, message, me.id)}
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
  const { kind, group_id } = hit.conversation;
  if (kind !== "self")
    return (
      <Avatar
        name={toConversationName(hit)}
        seed={toHitPlace(hit.conversation)}
        isGroup={group_id !== null}
      />
    );
  return (
    <span class="avatar notes" aria-hidden="true">
      <Icon name="notes" />
    </span>
  );
}

function SenderAvatar({ hit }: { hit: Hit }) {
  const { me } = useSession();
  const { sender } = hit.message;
  const isGroup = hit.conversation.kind === "group";
  const name = sender?.id === me.id ? visible(me.display_name) || me.username : toSenderName(hit, me.id);
  // As on the left side: a contact has the colour of the conversation, a member the user's.
  const isContact = !isGroup && sender?.id !== me.id;
  return <Avatar name={name} seed={isContact ? toHitPlace(hit.conversation) : sender?.id} />;
}

function toConversationName({ conversation: { kind, name } }: Hit): string {
  return kind === "self" ? "Notes to self" : visible(name) || "No name";
}

/** Returns the author of a message, as the conversation names them. */
function toSenderName(hit: Hit, meId: string): string {
  const { sender } = hit.message;
  if (!sender) return "Deleted user";
  if (sender.id === meId) return "You";
  return hit.conversation.kind === "group" ? toUserName(sender) : toConversationName(hit);
}

/** Returns the place of a hit's conversation. */
export function toHitPlace({ contact_id, group_id }: Conversation): string {
  return contact_id ?? group_id ?? NOTES;
}
