// The reactions to a message, and the dialog to choose one, which says who has reacted.
import { useCallback } from "preact/hooks";
import type { Message } from "../../../packages/parley-client/src/index.ts";
import { focusContent } from "../files/open-file.tsx";
import type { Face } from "../people/known-people.ts";
import { Avatar, usePeople } from "../people/people.tsx";
import { useSession } from "../session/session.ts";
import { Dialog } from "../ui/dialog.tsx";
import { counted } from "../ui/format.ts";
import type { MessageActions } from "./message-tools.tsx";

/** The most names that a tooltip shows. */
const MAX_NAMED = 20;

const COMMON = ["👍", "❤️", "😂", "😮", "😢", "🙏", "🎉", "👀"];

export function Reactions(props: {
  message: Message;
  actions: MessageActions;
  /** Whether Tab reaches them: only on the focused message. */
  isReachable: boolean;
}) {
  return props.message.reactions.length > 0 && <ReactionList {...props} />;
}

function ReactionList({ message, actions, isReachable }: Parameters<typeof Reactions>[0]) {
  const { me, can } = useSession();
  const toReactor = useReactors(message.conversation_id);
  const toTitle = (ids: readonly string[]) => {
    const names = ids.slice(0, MAX_NAMED).map((id) => (id === me.id ? "You" : toReactor(id).name));
    return [...names, ...(ids.length > MAX_NAMED ? [`${ids.length - MAX_NAMED} more`] : [])].join(", ");
  };
  return (
    <ul class="reactions" aria-label="Reactions">
      {message.reactions.map(({ emoji, count, user_ids }) => (
        <li key={emoji}>
          <button
            type="button"
            class="reaction small"
            tabIndex={isReachable ? 0 : -1}
            aria-pressed={hasReacted(message, emoji, me.id)}
            disabled={!can("messages:write")}
            aria-label={`${emoji} ${counted(count, "reaction", "reactions")}`}
            title={toTitle(user_ids)}
            onClick={() => actions.toggle(message, emoji)}
          >
            <bdi>{emoji}</bdi> {count}
          </button>
        </li>
      ))}
    </ul>
  );
}

export function ReactionPicker(props: {
  message: Message;
  onChoose: (emoji: string) => void;
  onClose: () => void;
}) {
  const { me } = useSession();
  const choose = (emoji: string) => {
    props.onClose();
    props.onChoose(emoji);
  };
  return (
    <Dialog title="React" onClose={props.onClose}>
      <div class="reaction-choice" role="group" aria-label="Common reactions">
        {COMMON.map((emoji, at) => (
          <button
            key={emoji}
            type="button"
            class="icon-button"
            autofocus={at === 0}
            aria-pressed={hasReacted(props.message, emoji, me.id)}
            onClick={() => choose(emoji)}
          >
            {emoji}
          </button>
        ))}
      </div>
      <form
        class="reaction-form"
        onSubmit={(event) => {
          event.preventDefault();
          choose(String(new FormData(event.currentTarget).get("emoji")).trim());
        }}
      >
        <input
          class="field"
          name="emoji"
          aria-label="Another emoji"
          placeholder="Another emoji"
          pattern=".*\S.*"
          required
          autocomplete="off"
        />
        <button type="submit" class="button primary">
          React
        </button>
      </form>
      <Reacted message={props.message} />
    </Dialog>
  );
}

const SOMEBODY: Face = { name: "Somebody", seed: undefined, picture: undefined };

/** Returns a function that returns who has reacted in a conversation, by the id of the user. */
function useReactors(conversationId: string): (id: string) => Face {
  const { sync } = useSession();
  const people = usePeople();
  const { conversation } = sync.conversation(conversationId).getSnapshot();
  return (id) => {
    const user = people.findUser(id, conversationId);
    if (user) return people.toPerson(user);
    return conversation?.contact_id ? people.toFace(conversation) : SOMEBODY;
  };
}

/** The people who have reacted. */
function Reacted({ message: { conversation_id, reactions } }: { message: Message }) {
  const toReactor = useReactors(conversation_id);
  if (reactions.length === 0) return null;
  return (
    <ul class="members" aria-label="Who has reacted">
      {reactions.flatMap(({ emoji, user_ids }) =>
        user_ids.map((id) => (
          <li key={`${emoji} ${id}`} class="member">
            <Avatar {...toReactor(id)} />
            <span class="contact-text">
              <span class="contact-name">{toReactor(id).name}</span>
            </span>
            <bdi>{emoji}</bdi>
          </li>
        )),
      )}
    </ul>
  );
}

function hasReacted({ reactions }: Message, emoji: string, userId: string): boolean {
  return reactions.some((each) => each.emoji === emoji && each.user_ids.includes(userId));
}

/** Returns a function that adds or removes the user's reaction. */
export function useToggleReaction(): MessageActions["toggle"] {
  const { sync, me } = useSession();
  return useCallback(
    (message, emoji) => {
      sync.react(message.conversation_id, message.id, emoji, !hasReacted(message, emoji, me.id));
      // Removing the last reaction with an emoji removes its button.
      focusContent(message.id);
    },
    [sync, me.id],
  );
}
