import { useLayoutEffect, useState } from "preact/hooks";
import type { Conversation } from "../../../packages/parley-client/src/index.ts";
import { explain } from "../failures.ts";
import { useChanges, useSession } from "../session/session.ts";
import { MINUTE_MS, useInterval } from "../ui/use-interval.ts";

/** Returns the conversation, kept up to date; at once if it is cached. */
export function useConversation(id: string): {
  conversation: Conversation | undefined;
  failure: string;
  retry: () => void;
} {
  const { conversations, endIfRefused } = useSession();
  const [conversation, setConversation] = useState(() => conversations.find(id));
  const [failure, setFailure] = useState("");
  const load = () => {
    setFailure("");
    conversations.load(id).catch((error) => {
      setFailure(explain(error));
      endIfRefused(error);
    });
  };
  useChanges((change) => {
    if (change.type === "missed") conversations.refresh(id);
    if (change.type === "retry" && failure) load();
    if (change.type === "conversation.current" && change.payload.id === id) setConversation(change.payload);
  });
  useLayoutEffect(() => {
    if (!conversation) load();
  }, []);
  // There is no event when a contact joins.
  useInterval(() => conversations.refresh(id), MINUTE_MS, conversation?.contact_joined === false);
  return { conversation, failure: conversation ? "" : failure, retry: load };
}
