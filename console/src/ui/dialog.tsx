// Dialogs. The native element keeps the focus inside, closes on Escape, and returns the focus.
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { IconButton } from "./icons.tsx";

export function Dialog(props: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  wide?: boolean;
  /** Whether the title is only for screen readers, and Escape or a click outside closes the dialog. */
  bare?: boolean;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  const pressedOutside = useRef(false);
  useLayoutEffect(() => {
    const dialog = ref.current!;
    dialog.showModal();
    // Close before removing: only then does the focus return.
    return () => dialog.close();
  }, []);
  return (
    <dialog
      ref={ref}
      class={`dialog${props.wide ? " wide" : ""}${props.bare ? " bare" : ""}`}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        props.onClose();
      }}
      onClose={() => {
        // The browser closed it, for example on a second Escape. Without a ref it is being removed.
        if (ref.current) props.onClose();
      }}
      onPointerDown={(event) => {
        pressedOutside.current = isOutside(event, ref.current!);
      }}
      onClick={(event) => {
        // Selecting text may end outside: close only on a click that also began there.
        if (pressedOutside.current && isOutside(event, ref.current!)) props.onClose();
      }}
    >
      <div class="dialog-body">
        {props.bare ? (
          <h2 id={id} class="visually-hidden">
            {props.title}
          </h2>
        ) : (
          <header class="dialog-head">
            <h2 id={id}>{props.title}</h2>
            <IconButton icon="close" label="Close" onClick={props.onClose} />
          </header>
        )}
        {props.children}
      </div>
    </dialog>
  );
}

/** Reports whether an event hit the backdrop. The dialog's edge and scroll bar have the same target. */
function isOutside({ target, clientX, clientY }: MouseEvent, dialog: HTMLDialogElement): boolean {
  const { left, right, top, bottom } = dialog.getBoundingClientRect();
  return target === dialog && (clientX < left || clientX > right || clientY < top || clientY > bottom);
}

/** The buttons at the end of a form in a dialog. */
export function FormButtons(props: {
  submit: string;
  isBusy: boolean;
  /** Whether the action loses something. */
  isDanger?: boolean;
  onClose: () => void;
}) {
  return (
    <div class="dialog-actions">
      <button type="button" class="button" onClick={props.onClose}>
        Cancel
      </button>
      <button
        type="submit"
        class={props.isDanger ? "button danger" : "button primary"}
        disabled={props.isBusy}
      >
        {props.submit}
      </button>
    </div>
  );
}

export function ConfirmDialog(props: {
  title: string;
  text: string;
  action: string;
  onConfirm: () => Promise<void>;
  /** An alternative action. */
  other?: { action: string; onConfirm: () => Promise<void> };
  /** Whether the action loses nothing. */
  isHarmless?: boolean;
  onClose: () => void;
}) {
  const [busy, setBusy] = useState(false);
  const confirm = async (act: () => Promise<void>) => {
    setBusy(true);
    await act();
    props.onClose();
  };
  const { action, onConfirm, other } = props;
  const choices = other ? [other, { action, onConfirm }] : [{ action, onConfirm }];
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <p class="dialog-text">{props.text}</p>
      <div class="dialog-actions">
        <button type="button" class="button" onClick={props.onClose}>
          Cancel
        </button>
        {choices.map(({ action, onConfirm }) => (
          <button
            key={action}
            type="button"
            class={props.isHarmless ? "button primary" : "button danger"}
            disabled={busy}
            onClick={() => confirm(onConfirm)}
          >
            {action}
          </button>
        ))}
      </div>
    </Dialog>
  );
}
