// A name that is edited in place.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon, IconButton } from "./icons.tsx";

export function EditableName(props: {
  value: string;
  /** The thing being renamed, for labels: "contact", "file". */
  what: string;
  placeholder?: string;
  /** How many characters to select at first: the part that usually changes. */
  selectUpTo?: number;
  /** Returns false if the name was refused, so that the user can correct it. */
  onSave: (value: string) => Promise<boolean>;
  /** Makes the name a heading that opens something. */
  onOpen?: () => void;
  /** Whether the user may not rename it. */
  readOnly?: boolean;
}) {
  const [editing, setEditing] = useState(false);
  const button = useRef<HTMLSpanElement>(null);
  const end = () => {
    setEditing(false);
    // Wait until the button has replaced the field.
    requestAnimationFrame(() => {
      const place = button.current;
      // If the name turned out to be read-only, focus the card.
      (
        place?.querySelector<HTMLElement>(".icon-button") ?? place?.closest(".card")?.querySelector("button")
      )?.focus();
    });
  };
  const shown = props.value || props.placeholder;
  if (editing) {
    return (
      <>
        {props.onOpen && <h1 class="visually-hidden">{shown}</h1>}
        <NameField {...props} onEnd={end} />
      </>
    );
  }
  const label = `Rename ${props.what} ${shown}`;
  return (
    <span class="editable" ref={button}>
      {props.onOpen ? (
        <OpeningHeading name={shown ?? ""} onOpen={props.onOpen} />
      ) : (
        <span class="name" title={shown}>
          {shown}
        </span>
      )}
      {!props.readOnly && <IconButton icon="edit" label={label} onClick={() => setEditing(true)} />}
    </span>
  );
}

/** The name of a conversation, as a button that opens information about it. */
export function OpeningHeading({ name, onOpen }: { name: string; onOpen: () => void }) {
  return (
    <h1 class="name">
      <button type="button" class="name-button ellipsis" title={name} onClick={onOpen}>
        {name}
      </button>
    </h1>
  );
}

export function NameField(props: Parameters<typeof EditableName>[0] & { onEnd: () => void }) {
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
      <IconButton icon="close" label="Cancel renaming" onClick={props.onEnd} />
    </form>
  );
}
