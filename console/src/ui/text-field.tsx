import { useId } from "preact/hooks";

/** A labelled text field of a form. */
export function TextField(props: {
  name: string;
  label: string;
  hint?: string;
  inputMode?: "tel";
  required?: boolean;
  autofocus?: boolean;
  maxLength?: number;
  isWrong?: boolean;
  /** The id of a list of suggestions. */
  list?: string;
  initial?: string;
  onInput?: (text: string) => void;
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
        maxLength={props.maxLength}
        autocomplete="off"
        spellcheck={false}
        defaultValue={props.initial ?? ""}
        list={props.list}
        aria-invalid={props.isWrong ?? false}
        aria-describedby={props.hint ? hint : undefined}
        onInput={({ currentTarget }) => props.onInput?.(currentTarget.value)}
      />
      {props.hint && (
        <span id={hint} class="muted small">
          {props.hint}
        </span>
      )}
    </label>
  );
}
