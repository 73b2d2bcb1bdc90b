import { useRef } from "preact/hooks";
import { explain, isPassing } from "../failures.ts";
import { useRedraw } from "../ui/use-redraw.ts";
import { toError } from "./copy.ts";
import { useChanges, useSession } from "./session.ts";

export interface Loading {
  loading: boolean;
  /** The error of the page that failed; empty if none did. */
  failure: string;
  /** Loads, unless it is loading or has failed. */
  more: () => void;
  /** Loads now, or again once what is loading has ended. */
  restart: () => void;
  /** Retries the failed page; undefined if that cannot help. */
  retry: (() => void) | undefined;
}

/** Loads pages of a view. A failed one is retried by the person, or once the server may be back. */
export function useLoading(load: () => Promise<void>): Loading {
  const { endIfRefused } = useSession();
  const redraw = useRedraw();
  const { current } = useRef({ isBusy: false, isDue: false, error: undefined as unknown });
  const latest = useRef(load);
  latest.current = load;
  const run = async () => {
    current.isDue = true;
    if (current.isBusy) return;
    current.isBusy = true;
    while (current.isDue) {
      Object.assign(current, { isDue: false, error: undefined });
      redraw();
      current.error = await latest.current().then(() => undefined, toError);
    }
    current.isBusy = false;
    if (current.error) endIfRefused(current.error);
    redraw();
  };
  const canRetry = isPassing(current.error);
  useChanges(({ type }) => type === "retry" && canRetry && void run());
  return {
    loading: current.isBusy,
    failure: current.error === undefined ? "" : explain(current.error),
    more: () => current.isBusy || current.error !== undefined || void run(),
    restart: () => void run(),
    retry: canRetry ? () => void run() : undefined,
  };
}
