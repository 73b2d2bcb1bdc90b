// Shows a new secret once.
import { useState } from "preact/hooks";
import { Dialog } from "../ui/dialog.tsx";
import { CopyButton } from "./parts.tsx";

export function ShowSecret(props: {
  what: "Token" | "Secret";
  secret: string;
  /** What it is good for, as the rest of a sentence. */
  use: string;
  onClose: () => void;
}) {
  const { what, secret, onClose } = props;
  const name = what.toLowerCase();
  const [isCopied, setCopied] = useState(false);
  const [isWarned, setWarned] = useState(false);
  // Warn once before closing: the secret cannot be shown again.
  const leave = () => (isCopied || isWarned ? onClose() : setWarned(true));
  return (
    <Dialog title={`Copy the new ${name} now`} onClose={leave}>
      <p>
        This is the only time that Parley shows the {name}. Keep it like a password: {props.use}
      </p>
      <div class="secret">
        <input
          class="field"
          readOnly
          autofocus
          aria-label={what}
          value={secret}
          onFocus={({ currentTarget }) => currentTarget.select()}
          onCopy={() => setCopied(true)}
        />
        <CopyButton text={secret} what={what} onCopied={() => setCopied(true)} />
      </div>
      <p class="failure" role="alert">
        {isWarned && !isCopied && `The ${name} has not been copied. Copy it, or close this again without it.`}
      </p>
      <div class="dialog-actions">
        <button type="button" class="button primary" onClick={leave}>
          Done
        </button>
      </div>
    </Dialog>
  );
}
