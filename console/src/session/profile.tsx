// The user's own name, phone number and picture.
import { useState } from "preact/hooks";
import { LABELS, NO_FAILURE, toFormFailure } from "../failures.ts";
import { Dialog, FormButtons } from "../ui/dialog.tsx";
import { TextField } from "../ui/text-field.tsx";
import { explainPicture, type NewPicture, PictureField } from "./profile-picture.tsx";
import { useSession } from "./session.ts";

/** The most characters of a name. */
const MAX_NAME = 100;
/** A name for a contact may be longer. */
const WRONG_NAME = `${LABELS.display_name} must have 1 to ${MAX_NAME} characters, at least one of them visible, without tabs or other control characters.`;
const FIELDS = ["display_name", "phone_number"] as const;

export function Profile({ onClose }: { onClose: () => void }) {
  const { me, parley, people, say, endIfRefused, refreshMe } = useSession();
  // Send only the fields that the user edited, so that concurrent changes elsewhere survive.
  const [before] = useState(me);
  const [picture, setPicture] = useState<NewPicture>();
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState(NO_FAILURE);
  const [pictureFailure, setPictureFailure] = useState("");
  const saveFields = async (form: FormData) => {
    const edited = FIELDS.filter((name) => form.get(name) !== (before[name] ?? ""));
    if (edited.length === 0) return;
    const changes = edited.map((name) => [name, String(form.get(name)).trim() || null]);
    people.learn([await parley.updateMe(Object.fromEntries(changes))]);
  };
  const savePicture = async () => {
    if (picture === undefined) return;
    const sent = picture ? parley.setAvatar(picture) : parley.updateMe({ avatar_url: null });
    people.learn([await sent]);
  };
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    setBusy(true);
    setFailure(NO_FAILURE);
    setPictureFailure("");
    let report = (error: unknown) => setFailure(toFormFailure(error));
    try {
      await saveFields(form);
      report = (error) => setPictureFailure(explainPicture(error));
      await savePicture();
      say("Your profile was changed.");
      onClose();
    } catch (error) {
      setBusy(false);
      report(error);
      endIfRefused(error);
    }
    refreshMe();
  };
  return (
    <Dialog title="Your profile" onClose={onClose}>
      <form onSubmit={submit}>
        <PictureField
          picture={picture}
          failure={pictureFailure}
          onChoose={(file) => {
            setPicture(file);
            setPictureFailure("");
          }}
          onRemove={() => setPicture(null)}
          onFail={(failure) => {
            setPicture(undefined);
            setPictureFailure(failure);
          }}
        />
        {FIELDS.map((name) => (
          <ProfileField key={name} name={name} initial={before[name] ?? ""} failure={failure} />
        ))}
        <p class="failure" role="alert">
          {failure.param === "" && failure.text}
        </p>
        <FormButtons submit="Save" isBusy={isBusy} onClose={onClose} />
      </form>
    </Dialog>
  );
}

const HINTS = {
  display_name: "What others call you, unless they choose another name for you",
  phone_number: "Only you, administrators and people with whom an app connects you see it",
};

function ProfileField(props: { name: (typeof FIELDS)[number]; initial: string; failure: typeof NO_FAILURE }) {
  const { name, initial, failure } = props;
  const reason = name === "display_name" ? WRONG_NAME : failure.text;
  return (
    <TextField
      name={name}
      label={LABELS[name]}
      hint={HINTS[name]}
      initial={initial}
      failure={failure.param === name ? reason : ""}
      autofocus={name === "display_name"}
      {...(name === "phone_number" ? { inputMode: "tel" as const } : { maxLength: MAX_NAME })}
    />
  );
}
