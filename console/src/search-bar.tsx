// The field of a search in the open conversation.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon, IconButton } from "./icons.tsx";
import { MAX_QUERY } from "./use-found.ts";

export function SearchBar(props: {
  label: string;
  typed: string;
  onType: (text: string) => void;
  onKeyDown?: (event: KeyboardEvent) => void;
  onClose: () => void;
  /** What has been found. */
  children?: ComponentChildren;
}) {
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => field.current!.focus(), []);
  return (
    <div class="search-bar">
      <label class="search">
        <Icon name="search" />
        <input
          ref={field}
          type="search"
          aria-label={props.label}
          placeholder={props.label}
          autocomplete="off"
          spellcheck={false}
          maxLength={MAX_QUERY}
          value={props.typed}
          onInput={({ currentTarget }) => props.onType(currentTarget.value)}
          onKeyDown={props.onKeyDown}
        />
      </label>
      {props.children}
      <IconButton icon="close" label="Close search" onClick={props.onClose} />
    </div>
  );
}
