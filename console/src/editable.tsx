// A name that is renamed where it stands.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon, IconButton } from "./icons.tsx";

export function EditableName(props: {
  value: string;
  /** What is renamed, for the labels: "contact", "file". */
  what: string;
  placeholder?: string;
  /** The part that is likely to be changed, from the start. */
  selectUpTo?: number;
  /** False where it was refused: the person may mend it. */
  onSave: (value: string) => Promise<boolean>;
  heading?: boolean;
  /** It is not the person's to change. */
  readOnly?: boolean;
}) {
  const [editing, setEditing] = useState(false);
  const button = useRef<HTMLSpanElement>(null);
  const end = () => {
    setEditing(false);
    // After the field has given way to the button.
    requestAnimationFrame(() => {
      const place = button.current;
      // Where it has turned out that the name is not to be changed, the card has the focus.
      (place?.querySelector("button") ?? place?.closest("li")?.querySelector("button"))?.focus();
    });
  };
  const shown = props.value || props.placeholder;
  if (editing) {
    return (
      <>
        {props.heading && <h1 class="visually-hidden">{shown}</h1>}
        <NameField {...props} onEnd={end} />
      </>
    );
  }
  const label = `Rename ${props.what} ${shown}`;
  return (
    <span class="editable" ref={button}>
      {props.heading ? (
        <h1 class="name" title={shown}>
          {shown}
        </h1>
      ) : (
        <span class="name" title={shown}>
          {shown}
        </span>
      )}
      {!props.readOnly && <IconButton icon="edit" label={label} onClick={() => setEditing(true)} />}
    </span>
  );
}

function NameField(props: Parameters<typeof EditableName>[0] & { onEnd: () => void }) {
  const field = useRef<HTMLInputElement>(null);
  const [busy, setBusy] = useState(false);
  useLayoutEffect(() => {
    field.current!.focus();
    field.current!.setSelectionRange(0, props.selectUpTo ?? props.value.length);
  }, []);
  const save = async () => {
    if (busy) return;
    const value = field.current!.value.trim();
    if (value === props.value) return props.onEnd();
    setBusy(true);
    if (await props.onSave(value)) props.onEnd();
    else setBusy(false);
  };
  return (
    <form
      class="editable"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <input
        ref={field}
        class="field name-field"
        aria-label={`New name of ${props.what} ${props.value || props.placeholder}`}
        defaultValue={props.value}
        placeholder={props.placeholder}
        readOnly={busy}
        autocomplete="off"
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          event.stopPropagation();
          event.preventDefault();
          props.onEnd();
        }}
      />
      <button type="submit" class="icon-button" aria-label="Save the name" title="Save">
        <Icon name="check" />
      </button>
      <IconButton icon="close" label="Keep the old name" onClick={props.onEnd} />
    </form>
  );
}
