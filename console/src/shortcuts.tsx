// Keyboard shortcuts: the global ones, and the list of all.
import { Fragment } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Dialog } from "./ui/dialog.tsx";

const IS_MAC = /Mac|iPhone|iPad/.test(navigator.platform);
/** The modifier key, as labelled on keyboards. */
export const CONTROL = IS_MAC ? "⌘" : "Ctrl";

const ALL: readonly (readonly [what: string, keys: readonly string[]])[] = [
  ["Go to a contact or a group", [CONTROL, "K"]],
  ["Search contacts, groups, messages and files", ["/"]],
  ["Write in the open conversation", ["A…Z"]],
  ["Search the open conversation", [CONTROL, "F"]],
  ["Move in a list", ["↑", "↓"]],
  ["Open the selected item", ["Enter"]],
  ["Send the message", ["Enter"]],
  ["Start a new line", ["Shift", "Enter"]],
  ["Edit your last message, in an empty field", ["↑"]],
  ["Leave a field, close a dialog", ["Esc"]],
  ["Show this list", ["?"]],
];

/** Fields in which letters are text. */
const FIELD = "input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable]";

interface Shortcuts {
  search: () => void;
  goTo: () => void;
  /** A character was typed outside of all fields. */
  write: () => void;
  explain: () => void;
}

/** Calls back for global shortcuts, except in dialogs, and for single-character ones except in fields. */
export function useShortcuts(shortcuts: Shortcuts): void {
  const latest = useRef(shortcuts);
  latest.current = shortcuts;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const act = toAction(event);
      const isText = act !== "goTo" && (event.target as Element).closest?.(FIELD);
      if (!act || isText || document.querySelector("dialog")) return;
      // The field that now has the focus takes the character.
      if (act !== "write") event.preventDefault();
      latest.current[act]();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
}

function toAction(event: KeyboardEvent): keyof Shortcuts | undefined {
  const { key, altKey, defaultPrevented } = event;
  if (defaultPrevented || altKey || event.isComposing) return undefined;
  const isControlled = IS_MAC ? event.metaKey : event.ctrlKey;
  if (isControlled) return key.toLowerCase() === "k" && !event.shiftKey ? "goTo" : undefined;
  if (event.ctrlKey || event.metaKey) return undefined;
  if (key === "/") return "search";
  if (key === "?") return "explain";
  return /^\S$/u.test(key) ? "write" : undefined;
}

export function Keys({ keys }: { keys: readonly string[] }) {
  return (
    <>
      {keys.map((key, at) => (
        <Fragment key={key}>
          {at > 0 && " "}
          <kbd>{key}</kbd>
        </Fragment>
      ))}
    </>
  );
}

export function ShortcutList({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl class="keys">
        {ALL.map(([what, keys]) => (
          <div key={what}>
            <dt>{what}</dt>
            <dd>
              <Keys keys={keys} />
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
