import { useView } from "../session/copy.ts";
import { useSession } from "../session/session.ts";

/** Describes who is typing in a conversation; empty if nobody is. `name`: the contact's. */
export function useTyping(conversationId: string, name: string): string {
  const { sync, people } = useSession();
  const typists = useView(sync.typing(conversationId));
  const { conversation } = sync.conversation(conversationId).getSnapshot();
  const toName = (id: string) => {
    if (conversation?.kind !== "group") return name;
    const user = people.findUser(id, conversationId);
    return user ? people.toPerson(user).name : "Somebody";
  };
  if (typists.length === 0) return "";
  if (typists.length > 2) return `${typists.length} people are typing…`;
  return `${typists.map(toName).join(" and ")} ${typists.length === 1 ? "is" : "are"} typing…`;
}
