import { useMemo } from "preact/hooks";
import type { AuditEntry } from "../../../client/src/index.ts";
import { useSession } from "../session.ts";
import { type Pages, usePages } from "../use-pages.ts";
import { type TrailFilter, TrailReader } from "./audit-reader.ts";

export interface Trail extends Pages<AuditEntry> {
  /** How far back it has looked, in seconds. */
  reached: number | undefined;
}

export function useTrail(filter: TrailFilter): Trail {
  const { parley } = useSession();
  const key = JSON.stringify(filter);
  const reader = useMemo(() => new TrailReader(parley, filter), [parley, key]);
  const pages = usePages<AuditEntry>(key, (_after, signal) => reader.next(signal));
  return { ...pages, reached: reader.reached };
}
