import { useState } from "preact/hooks";
import type { Contact } from "../../../packages/parley-client/src/index.ts";
import { LABELS, NO_FAILURE, toFormFailure } from "../failures.ts";
import { useSession } from "../session/session.ts";
import { Dialog, FormButtons } from "../ui/dialog.tsx";
import { TextField } from "../ui/text-field.tsx";
import { toUsername } from "./known-people.ts";

export function AddContact(props: {
  /** The text of a search without results, which is likely a username. */
  suggestion: string;
  onClose: () => void;
  onAdded: (contact: Contact) => void;
  /** Opens the existing contact. */
  onExisting: (id: string) => void;
}) {
  const { parley, say, endIfRefused } = useSession();
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState(NO_FAILURE);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string) => String(fields.get(name)).trim();
    setBusy(true);
    try {
      const contact = await parley.contacts.create({
        username: toUsername(text("username")),
        phone_number: text("phone_number"),
        display_name: text("display_name") || null,
      });
      say(`${text("display_name") || contact.username} was added.`);
      props.onClose();
      props.onAdded(contact);
    } catch (error) {
      setBusy(false);
      setFailure(toFormFailure(error));
      endIfRefused(error);
    }
  };
  const openExisting = () => {
    props.onClose();
    props.onExisting(failure.existing);
  };
  const toFailure = (name: string) => (failure.param === name ? failure.text : "");
  return (
    <Dialog title="Add a contact" onClose={props.onClose}>
      <form onSubmit={submit}>
        <TextField
          name="username"
          label={LABELS.username}
          initial={props.suggestion}
          failure={toFailure("username")}
          required
          autofocus
        />
        <TextField
          name="phone_number"
          label={LABELS.phone_number}
          inputMode="tel"
          failure={toFailure("phone_number")}
          required
        />
        <TextField
          name="display_name"
          label={LABELS.display_name}
          hint="Optional: your name for them"
          failure={toFailure("display_name")}
        />
        <p class="failure" role="alert">
          {failure.param in LABELS ? "" : failure.text}
        </p>
        {failure.existing && (
          <button type="button" class="button" onClick={openExisting}>
            Open the contact
          </button>
        )}
        <p class="muted small">They get your messages and files once they add you too.</p>
        <FormButtons submit="Add" isBusy={busy} onClose={props.onClose} />
      </form>
    </Dialog>
  );
}
