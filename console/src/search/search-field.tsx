import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "../ui/icons.tsx";

/** A search field. */
export function SearchField(props: {
  label: string;
  /** Default: the label. */
  placeholder?: string;
  maxLength: number;
  value: string;
  /** Whether it takes the focus when it appears. */
  isFocused?: boolean;
  /** The id of a list of suggestions. */
  list?: string;
  onType: (text: string) => void;
  onKeyDown?: (event: KeyboardEvent) => void;
}) {
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    if (props.isFocused) field.current!.focus();
  }, []);
  return (
    <label class="search">
      <Icon name="search" />
      <input
        ref={field}
        type="search"
        aria-label={props.label}
        placeholder={props.placeholder ?? props.label}
        autocomplete="off"
        spellcheck={false}
        maxLength={props.maxLength}
        list={props.list}
        value={props.value}
        onInput={({ currentTarget }) => props.onType(currentTarget.value)}
        onKeyDown={props.onKeyDown}
      />
    </label>
  );
}
