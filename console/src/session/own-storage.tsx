import { formatSize } from "../ui/format.ts";
import { useSession } from "./session.ts";

/** The share of the quota at which storage counts as almost full. */
const ALMOST_FULL = 0.9;

/** How much the user's files take, and of how much. */
export function OwnStorage() {
  const { used, quota } = useSession().me.storage;
  return (
    <>
      <span class="muted small">
        Sent by you:{" "}
        {quota === null ? `${formatSize(used)} stored` : `${formatSize(used)} of ${formatSize(quota)} stored`}
      </span>
      {quota !== null && (
        <meter max={quota} high={quota * ALMOST_FULL} value={used} aria-label="Storage used" />
      )}
    </>
  );
}

/** Returns whether the user's storage is almost full. */
export function useAlmostFull(): boolean {
  const { used, quota } = useSession().me.storage;
  return quota !== null && used > quota * ALMOST_FULL;
}
