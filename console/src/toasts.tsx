// What is told for a moment, and read out: results politely, failures at once.
import { useCallback, useState } from "preact/hooks";
import { IconButton } from "./icons.tsx";

const SHOWN_MS = 6000;
const MAX_SHOWN = 3;

interface Toast {
  id: number;
  text: string;
  failure: boolean;
}

export function useToasts() {
  const [toasts, setToasts] = useState<Toast[]>([]);
  const dismiss = useCallback((id: number) => setToasts((all) => all.filter((each) => each.id !== id)), []);
  const add = useCallback(
    (text: string, failure: boolean) => {
      const id = performance.now();
      setToasts((all) =>
        [...all.filter((each) => each.text !== text), { id, text, failure }].slice(-MAX_SHOWN),
      );
      // A failure stays until it was read.
      if (!failure) setTimeout(() => dismiss(id), SHOWN_MS);
    },
    [dismiss],
  );
  return { toasts, add, dismiss };
}

export function Toasts(props: { toasts: Toast[]; onDismiss: (id: number) => void }) {
  const shown = (failure: boolean) =>
    props.toasts
      .filter((each) => each.failure === failure)
      .map(({ id, text }) => (
        <div key={id} class={failure ? "toast bad" : "toast"}>
          <span>{text}</span>
          {failure && <IconButton icon="close" label="Dismiss" onClick={() => props.onDismiss(id)} />}
        </div>
      ));
  return (
    <div class="toasts">
      <div role="alert">{shown(true)}</div>
      <div role="status">{shown(false)}</div>
    </div>
  );
}
