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
  /** Why its value was refused. */
  failure?: string;
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
        autocapitalize={props.name === "username" ? "none" : "words"}
        spellcheck={false}
        defaultValue={props.initial ?? ""}
        list={props.list}
        aria-invalid={Boolean(props.failure)}
        aria-describedby={hint}
        onInput={({ currentTarget }) => props.onInput?.(currentTarget.value)}
      />
      <span id={hint} class="labelled">
        {props.hint && <span class="muted small">{props.hint}</span>}
        <span class="failure" role="alert">
          {props.failure}
        </span>
      </span>
    </label>
  );
}
