import { useEffect, useState } from "preact/hooks";
import type { ConversationState, InboxEntry } from "../../../packages/parley-sync/src/index.ts";
import { useView } from "../session/copy.ts";
import { useSession } from "../session/session.ts";
import { useLoading } from "../session/use-loading.ts";
import { MINUTE_MS, useInterval } from "../ui/use-interval.ts";

/** Returns the conversation, kept up to date; at once if the copy has it. */
export function useConversation(id: string): {
  state: ConversationState;
  conversation: InboxEntry | undefined;
  failure: string;
  retry: (() => void) | undefined;
} {
  const { sync, parley } = useSession();
  const view = sync.conversation(id);
  const state = useView(view);
  const { failure, retry, more } = useLoading(view.loadOlder);
  const [hasJoined, setJoined] = useState(false);
  const { conversation } = state;
  const isMissing = state.isLoaded && !conversation;
  useEffect(() => {
    if (isMissing) more();
  }, [isMissing]);
  // There is no event when a contact joins.
  const isWaiting = conversation?.contact_joined === false && !hasJoined;
  const ask = () => parley.conversations.retrieve(id).then((row) => setJoined(row.contact_joined !== false));
  useInterval(() => void ask().catch(() => {}), MINUTE_MS, isWaiting);
  return {
    state,
    conversation: conversation && hasJoined ? { ...conversation, contact_joined: true } : conversation,
    failure: conversation ? "" : failure,
    retry,
  };
}
