import { useState } from "preact/hooks";
import type { User } from "../../../packages/parley-client/src/index.ts";
import { explain } from "../failures.ts";
import { openPlace } from "../place.ts";
import { useSession } from "../session/session.ts";
import { Dialog, FormButtons } from "../ui/dialog.tsx";
import { formatSize } from "../ui/format.ts";
import { TextField } from "../ui/text-field.tsx";
import { useDirectory } from "./directory.tsx";

/** Asks for the username, explains what is lost, and erases the user. */
export function EraseUser({ user, onClose }: { user: User; onClose: () => void }) {
  const { parley, me, say, refreshMe, endIfRefused } = useSession();
  const directory = useDirectory();
  const [typed, setTyped] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState("");
  const isSelf = me.id === user.id;
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (typed.trim() !== user.username) return setFailure(`Type ${user.username} exactly as it is written.`);
    setBusy(true);
    try {
      await parley.users.delete(user.id);
    } catch (error) {
      setBusy(false);
      setFailure(`${user.username} was not erased. ${explain(error)}`);
      return endIfRefused(error);
    }
    onClose();
    // The server now refuses the session, which ends it.
    if (isSelf) return refreshMe();
    directory.erase(user.id);
    say(`${user.username} was erased.`);
    openPlace("admin/users");
  };
  return (
    <Dialog title={`Erase ${user.username}?`} onClose={onClose}>
      <form onSubmit={submit}>
        {isSelf && (
          <p class="failure">
            This is you. You will be signed out, and need another token with the scope admin.
          </p>
        )}
        <ul class="losses">
          <li>Their contacts, blocks and notes to self are erased.</li>
          <li>Their tokens, webhooks and push subscriptions stop working at once.</li>
          <li>
            They leave every conversation and group. Others keep the messages and files that they received,
            without the sender's name.
          </li>
          {user.storage.used > 0 && (
            <li>
              Files that nobody else received are erased. The user stores {formatSize(user.storage.used)}.
            </li>
          )}
          <li>Their entries stay in the audit trail.</li>
        </ul>
        <TextField
          name="confirmation"
          label={`Type ${user.username} to confirm`}
          hint="You can't undo this."
          onInput={setTyped}
          required
          autofocus
        />
        <p class="failure" role="alert">
          {failure}
        </p>
        <FormButtons submit="Erase user" isBusy={isBusy} isDanger onClose={onClose} />
      </form>
    </Dialog>
  );
}
