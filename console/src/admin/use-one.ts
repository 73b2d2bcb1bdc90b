import { useEffect, useState } from "preact/hooks";
import { explain, isAborted, isGone } from "../failures.ts";
import { useSession } from "../session/session.ts";

interface One<Item> {
  item: Item | undefined;
  /** Empty if there is none. */
  failure: string;
  /** Whether the item does not exist. */
  isMissing: boolean;
  retry: () => void;
  /** Replaces the item by a newer state. */
  change: (item: Item) => void;
}

/** Reads the item that the URL names. */
export function useOne<Item>(id: string, read: (signal: AbortSignal) => PromiseLike<Item>): One<Item> {
  const { endIfRefused } = useSession();
  const [state, setState] = useState<{ item?: Item; error?: unknown }>({});
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    const controller = new AbortController();
    setState({});
    read(controller.signal).then(
      (item) => setState({ item }),
      (error) => {
        if (isAborted(error)) return;
        setState({ error });
        endIfRefused(error);
      },
    );
    return () => controller.abort();
  }, [id, attempt]);
  const { item, error } = state;
  return {
    item,
    failure: error === undefined ? "" : explain(error),
    isMissing: isGone(error),
    retry: () => setAttempt((count) => count + 1),
    change: (item) => setState({ item }),
  };
}
