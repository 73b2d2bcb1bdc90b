// Notices, also for screen readers: results politely and for a moment, failures at once.
import { useCallback, useRef, useState } from "preact/hooks";
import { IconButton } from "./icons.tsx";
import { useRoom } from "./use-room.ts";

const SHOWN_MS = 6000;
const MAX_SHOWN = 3;

/** A place to go to from a notice. */
export interface ToastLink {
  href: string;
  label: string;
}

interface Toast {
  id: number;
  text: string;
  failure: boolean;
  link: ToastLink | undefined;
}

export function useToasts() {
  const [toasts, setToasts] = useState<Toast[]>([]);
  const next = useRef(1);
  const dismiss = useCallback((id: number) => setToasts((all) => all.filter((each) => each.id !== id)), []);
  const dismissFailures = useCallback(() => setToasts((all) => all.filter((each) => !each.failure)), []);
  const add = useCallback(
    (text: string, failure: boolean, link?: ToastLink) => {
      const id = next.current++;
      setToasts((all) => {
        const others = all.filter((each) => each.text !== text);
        // A failure stays until it is dismissed.
        const failures = others.filter((each) => each.failure);
        const results = others.filter((each) => !each.failure);
        const added = { id, text, failure, link };
        return failure
          ? [...failures, added, ...results]
          : [...failures, ...[...results, added].slice(-MAX_SHOWN)];
      });
      // A link leaves the time to reach it.
      if (!failure && !link) setTimeout(() => dismiss(id), SHOWN_MS);
    },
    [dismiss],
  );
  return { toasts, add, dismiss, dismissFailures };
}

export function Toasts(props: {
  toasts: Toast[];
  onDismiss: (id: number) => void;
  onDismissFailures: () => void;
}) {
  const failures = props.toasts.filter(({ failure }) => failure);
  const results = props.toasts.filter(({ failure }) => !failure);
  const box = useRef<HTMLDivElement>(null);
  useRoom(box, "--toasts");
  return (
    <div ref={box} class="toasts">
      {failures.length > 1 && (
        <button type="button" class="button dismiss-all" onClick={props.onDismissFailures}>
          Dismiss all {failures.length}
        </button>
      )}
      <div role="alert" class="toasts-bad">
        {failures.map(({ id, text }) => (
          <div key={id} class="toast bad">
            <span>{text}</span>
            <IconButton icon="close" label="Dismiss" onClick={() => props.onDismiss(id)} />
          </div>
        ))}
      </div>
      <div role="status">
        {results.map(({ id, text, link }) => (
          <div key={id} class="toast">
            <span>
              {text}{" "}
              {link && (
                <a href={link.href} onClick={() => props.onDismiss(id)}>
                  {link.label}
                </a>
              )}
            </span>
            {link && <IconButton icon="close" label="Dismiss" onClick={() => props.onDismiss(id)} />}
          </div>
        ))}
      </div>
    </div>
  );
}
