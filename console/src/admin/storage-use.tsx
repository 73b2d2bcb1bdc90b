import { formatSize } from "../ui/format.ts";

/** The share of the quota that a user has used. */
export function StorageUse({ used, quota }: { used: number; quota: number | null }) {
  if (quota === null) return <>{formatSize(used)}</>;
  return (
    <span class="storage-use">
      {formatSize(used)} of {formatSize(quota)}
      {used > 0 && (
        <meter
          max={quota}
          high={quota * 0.9}
          value={used}
          aria-label={`${Math.round((used / quota) * 100)} % of the quota`}
        />
      )}
    </span>
  );
}
