// Dialogs: the platform's own, which keep the focus inside, close by Escape, and give the focus back.
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { IconButton } from "./icons.tsx";

export function Dialog(props: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  wide?: boolean;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  const pressedOutside = useRef(false);
  useLayoutEffect(() => {
    const dialog = ref.current!;
    dialog.showModal();
    // Closed before it is taken away: only then does the focus return to where it was.
    return () => dialog.close();
  }, []);
  return (
    <dialog
      ref={ref}
      class={props.wide ? "dialog wide" : "dialog"}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        props.onClose();
      }}
      onClose={() => {
        // The browser closed it, as by a second Escape; not when it is taken away here.
        if (ref.current) props.onClose();
      }}
      onPointerDown={(event) => {
        pressedOutside.current = isOutside(event, ref.current!);
      }}
      onClick={(event) => {
        // A text that is selected by the mouse may end out there: only what began there is meant.
        if (pressedOutside.current && isOutside(event, ref.current!)) props.onClose();
      }}
    >
      <div class="dialog-body">
        <header class="dialog-head">
          <h2 id={id}>{props.title}</h2>
          <IconButton icon="close" label="Close" onClick={props.onClose} />
        </header>
        {props.children}
      </div>
    </dialog>
  );
}

/** The backdrop belongs to the dialog itself, as its edge and its scroll bar do. */
function isOutside({ target, clientX, clientY }: MouseEvent, dialog: HTMLDialogElement): boolean {
  const { left, right, top, bottom } = dialog.getBoundingClientRect();
  return target === dialog && (clientX < left || clientX > right || clientY < top || clientY > bottom);
}

export function ConfirmDialog(props: {
  title: string;
  text: string;
  action: string;
  onConfirm: () => Promise<void>;
  onClose: () => void;
}) {
  const [busy, setBusy] = useState(false);
  const confirm = async () => {
    setBusy(true);
    await props.onConfirm();
    props.onClose();
  };
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <p class="dialog-text">{props.text}</p>
      <div class="dialog-actions">
        <button type="button" class="button" onClick={props.onClose}>
          Cancel
        </button>
        <button type="button" class="button danger" disabled={busy} onClick={confirm}>
          {props.action}
        </button>
      </div>
    </Dialog>
  );
}
