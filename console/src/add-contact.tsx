import { useId, useState } from "preact/hooks";
import { type Contact, ParleyApiError } from "../../client/src/index.ts";
import { Dialog, FormButtons } from "./dialog.tsx";
import { explain, LABELS } from "./failures.ts";
import { useSession } from "./session.ts";

const NO_FAILURE = { text: "", param: "", existing: "" };

export function AddContact(props: {
  /** The text of a search without results: likely the username. */
  suggestion: string;
  onClose: () => void;
  onAdded: (contact: Contact) => void;
  /** Opens the contact that already exists. */
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
        username: text("username"),
        phone_number: text("phone_number"),
        display_name: text("display_name") || null,
      });
      say(`${text("display_name") || contact.username} was added.`);
      props.onClose();
      props.onAdded(contact);
    } catch (error) {
      setBusy(false);
      const { param = "", members = {} } = error instanceof ParleyApiError ? error : {};
      setFailure({ text: explain(error), param, existing: String(members.existing_id ?? "") });
      endIfRefused(error);
    }
  };
  const openExisting = () => {
    props.onClose();
    props.onExisting(failure.existing);
  };
  const shared = { failure, fallback: props.suggestion };
  return (
    <Dialog title="Add a contact" onClose={props.onClose}>
      <form onSubmit={submit}>
        <Field {...shared} name="username" label={LABELS.username} required autofocus />
        <Field {...shared} name="phone_number" label={LABELS.phone_number} inputMode="tel" required />
        <Field
          {...shared}
          name="display_name"
          label={LABELS.display_name}
          hint="Optional: your name for them"
        />
        <p class="failure" role="alert">
          {failure.text}
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

function Field(props: {
  name: string;
  label: string;
  inputMode?: "tel";
  hint?: string;
  required?: boolean;
  autofocus?: boolean;
  failure: { text: string; param: string };
  fallback: string;
}) {
  const hint = useId();
  return (
    <label class="labelled">
      {props.label}
      <input
        class="field"
        name={props.name}
        inputMode={props.inputMode ?? "text"}
        required={props.required ?? false}
        autofocus={props.autofocus ?? false}
        autocomplete="off"
        defaultValue={props.name === "username" ? props.fallback : ""}
        aria-invalid={props.failure.param === props.name}
        aria-describedby={props.hint ? hint : undefined}
      />
      {props.hint && (
        <span id={hint} class="muted small">
          {props.hint}
        </span>
      )}
    </label>
  );
}
