import type { Message } from "../../../packages/parley-client/src/index.ts";
import { useSession } from "../session/session.ts";
import { ConfirmDialog } from "../ui/dialog.tsx";
import type { MessageActions } from "./message-tools.tsx";

export function RemoveMessage(props: {
  message: Message;
  kind: MessageActions["kind"];
  onClose: () => void;
}) {
  const { message, kind, onClose } = props;
  const { sync, me, say } = useSession();
  const remove = async (forMe: boolean) => {
    sync.delete(message.conversation_id, message.id, { forMe });
    say(forMe ? "The message was deleted for you." : "The message was deleted.");
  };
  const forMe = { action: "Delete for me", onConfirm: () => remove(true) };
  const shared = { title: "Delete this message?", onClose };
  const what = message.attachments.length > 0 ? "the message and its files" : "the message";
  if (message.type !== "text" || message.sender?.id !== me.id) {
    const text = `This deletes ${what} for you. The others keep it. You can't undo this.`;
    return <ConfirmDialog {...shared} {...forMe} text={text} />;
  }
  if (kind === "self") {
    const text = `This deletes ${what}. You can't undo this.`;
    return <ConfirmDialog {...shared} text={text} action="Delete" onConfirm={() => remove(false)} />;
  }
  return (
    <ConfirmDialog
      {...shared}
      text={`This deletes ${what} for everyone in this conversation, or for you alone. You can't undo this: what you delete for yourself, you can't edit or delete for everyone later.`}
      action="Delete for everyone"
      onConfirm={() => remove(false)}
      other={forMe}
    />
  );
}
