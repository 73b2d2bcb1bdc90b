import { useState } from "preact/hooks";
import type { User } from "../../../packages/parley-client/src/index.ts";
import { LABELS, NO_FAILURE, toFormFailure } from "../failures.ts";
import { useSession } from "../session/session.ts";
import { Dialog, FormButtons } from "../ui/dialog.tsx";
import { TextField } from "../ui/text-field.tsx";
import { useDirectory } from "./directory.tsx";

export function EditUser(props: { user: User; onChange: (user: User) => void; onClose: () => void }) {
  const { user, onChange, onClose } = props;
  const { parley, me, say, refreshMe, endIfRefused } = useSession();
  const directory = useDirectory();
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState(NO_FAILURE);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const inputs = [...(event.currentTarget as HTMLFormElement).querySelectorAll("input")];
    // Somebody else may have changed the other fields meanwhile.
    const edited = inputs.filter(({ value, defaultValue }) => value !== defaultValue);
    const toChange = ({ name, value }: HTMLInputElement) => {
      const text = value.trim() || null;
      return [name, name === "message_limit" && text !== null ? Number(text) : text];
    };
    if (edited.length === 0) return onClose();
    setBusy(true);
    try {
      const changed = await parley.users.update(user.id, Object.fromEntries(edited.map(toChange)));
      directory.add(changed);
      onChange(changed);
      if (me.id === user.id) refreshMe();
      say(`${user.username} was changed.`);
      onClose();
    } catch (error) {
      setBusy(false);
      setFailure(toFormFailure(error));
      endIfRefused(error);
    }
  };
  const field = (name: "display_name" | "phone_number") => ({
    name,
    label: LABELS[name],
    hint: "Optional",
    initial: user[name] ?? "",
    failure: failure.param === name ? failure.text : "",
  });
  return (
    <Dialog title={`Change ${user.username}`} onClose={onClose}>
      <form onSubmit={submit}>
        <TextField {...field("display_name")} autofocus />
        <TextField {...field("phone_number")} inputMode="tel" />
        <label class="labelled">
          Messages to others per minute
          <input
            class="field"
            type="number"
            name="message_limit"
            min={0}
            max={1_000_000}
            defaultValue={user.message_limit ?? ""}
          />
          <span class="muted small">Empty: the limit of the server. 0: no limit.</span>
        </label>
        <p class="failure" role="alert">
          {failure.param in LABELS ? "" : failure.text}
        </p>
        <FormButtons submit="Save" isBusy={isBusy} onClose={onClose} />
      </form>
    </Dialog>
  );
}
