// The search field of the open conversation.
import type { ComponentChildren } from "preact";
import { IconButton } from "../ui/icons.tsx";
import { SearchField } from "./search-field.tsx";
import { MAX_QUERY } from "./use-found.ts";

export function SearchBar(props: {
  label: string;
  typed: string;
  onType: (text: string) => void;
  onKeyDown?: (event: KeyboardEvent) => void;
  onClose: () => void;
  /** The results. */
  children?: ComponentChildren;
}) {
  return (
    <div class="search-bar">
      <SearchField {...props} value={props.typed} maxLength={MAX_QUERY} isFocused />
      {props.children}
      <IconButton icon="close" label="Close search" onClick={props.onClose} />
    </div>
  );
}
