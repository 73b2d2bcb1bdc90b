import type { Message } from "../../client/src/index.ts";
import { ConfirmDialog } from "./dialog.tsx";
import { useSession } from "./session.ts";

export function RemoveMessage({ message, onClose }: { message: Message; onClose: () => void }) {
  const { parley, events, say, report, refreshMe } = useSession();
  const remove = async () => {
    try {
      await parley.messages.delete(message.id);
      events.publish({ type: "message.deleted", payload: message });
      say("The message was deleted.");
      if (message.attachments.length > 0) refreshMe();
    } catch (error) {
      report("The message was not deleted.", error);
    }
  };
  const what = message.attachments.length > 0 ? "the message and its files" : "the message";
  return (
    <ConfirmDialog
      title="Delete this message?"
      text={`This deletes ${what} for everyone in this conversation. You can't undo this.`}
      action="Delete"
      onConfirm={remove}
      onClose={onClose}
    />
  );
}
