// The audit trail with its filters and its export.
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { useSession } from "../session/session.ts";
import { Icon } from "../ui/icons.tsx";
import { useSettled } from "../ui/use-settled.ts";
import { ExportTrail } from "./audit-export.tsx";
import { type Fields, Filters, NO_FIELDS } from "./audit-filters.tsx";
import { type TrailFilter, useTrail } from "./audit-pages.ts";
import { TrailTable } from "./audit-table.tsx";
import { ACTIONS } from "./audit-words.ts";
import { Empty, More, PageHead } from "./parts.tsx";
import { parsePlace, toAuditPlace } from "./places.ts";
import { findUser, type Named } from "./user-filter.tsx";

/** Starts with the filters of the URL, and again after each link with other filters. */
export function AuditPage() {
  const read = () => Object.fromEntries(parsePlace(location.hash.slice(1)).query);
  const [start, setStart] = useState({ round: 0, fields: read() });
  useLayoutEffect(() => {
    const restart = () => setStart(({ round }) => ({ round: round + 1, fields: read() }));
    addEventListener("hashchange", restart);
    return () => removeEventListener("hashchange", restart);
  }, []);
  return (
    <Filtered
      key={start.round}
      initial={{ ...NO_FIELDS, ...start.fields }}
      onClear={() => setStart(({ round }) => ({ round: round + 1, fields: {} }))}
    />
  );
}

function Filtered({ initial, onClear }: { initial: Fields; onClear: () => void }) {
  const [fields, setFields] = useState(initial);
  const [by, setBy] = useState<Named | null>();
  const [isExporting, setExporting] = useState(false);
  const about = useAbout(fields.about);
  const isWaiting = (fields.by !== "" && by === undefined) || about === undefined;
  const filter = toFilter(fields, by, about ?? "");
  const used = Object.entries(fields).filter(([, value]) => value !== "");
  useEffect(() => {
    const place = used.length > 0 ? toAuditPlace(Object.fromEntries(used)) : "#admin/audit";
    if (place !== location.hash) history.replaceState(history.state, "", place);
  }, [fields]);
  const change = (changes: Partial<Fields>) => setFields((before) => ({ ...before, ...changes }));
  const clear = used.length > 0 ? onClear : undefined;
  return (
    <>
      <PageHead title="Audit trail">
        <button type="button" class="button" disabled={isWaiting} onClick={() => setExporting(true)}>
          <Icon name="download" />
          Export
        </button>
      </PageHead>
      <Filters
        fields={fields}
        onChange={change}
        onChooseBy={(user, name) => {
          setBy(user);
          change({ by: name });
        }}
      />
      {!isWaiting && <Entries key={JSON.stringify(filter)} filter={filter} onClear={clear} />}
      {isExporting && <ExportTrail filter={filter} onClose={() => setExporting(false)} />}
    </>
  );
}

/** `onClear`: set if there are filters. */
function Entries({ filter, onClear }: { filter: TrailFilter; onClear: (() => void) | undefined }) {
  const trail = useTrail(filter);
  const isEmpty = trail.items.length === 0 && trail.current && !trail.failure;
  return (
    <>
      {trail.items.length > 0 && <TrailTable label="Audit trail" pages={trail} />}
      {isEmpty && (
        <Empty
          icon="trail"
          title={onClear ? "No entry matches these filters" : "No entries"}
          text="Parley keeps entries for a limited time, 90 days by default."
        >
          {onClear && (
            <button type="button" class="button" onClick={onClear}>
              Clear the filters
            </button>
          )}
        </Empty>
      )}
      <More pages={trail} />
    </>
  );
}

/**
 * Returns what to search for: the id of the user with this name, otherwise the text. Undefined until the user is
 * looked up.
 */
function useAbout(typed: string): string | undefined {
  const { parley, endIfRefused } = useSession();
  const text = useSettled(typed.trim());
  const [found, setFound] = useState({ text: "", about: "" });
  useEffect(() => {
    if (text === "") return setFound({ text, about: "" });
    const controller = new AbortController();
    const { signal } = controller;
    findUser(parley, text, signal).then(
      (user) => setFound({ text, about: user?.id ?? text }),
      (error) => {
        if (signal.aborted) return;
        // If the user cannot be read, search for the text itself.
        setFound({ text, about: text });
        endIfRefused(error);
      },
    );
    return () => controller.abort();
  }, [text, parley]);
  return found.text === text ? found.about : undefined;
}

function toFilter(fields: Fields, by: Named | null | undefined, about: string): TrailFilter {
  if (by === null) return null;
  const from = toStart(fields.from, 0);
  const before = toStart(fields.to, 1);
  const actions = toActions(fields.action);
  return {
    ...(by && { actor_id: by.id }),
    ...(about && { q: about }),
    ...(actions && { actions }),
    ...(from !== undefined && { created_from: from }),
    ...(before !== undefined && { created_before: before }),
  };
}

/** Returns the actions of a family, or the single chosen action. */
function toActions(chosen: string): string {
  const family = ACTIONS.find(({ family }) => family === chosen);
  return family ? family.actions.map(([action]) => action).join() : chosen;
}

const DAY_SECONDS = 86_400;

/** Returns the start of a day in UTC, in seconds, or of the day that is `later` days later. */
function toStart(day: string, later: number): number | undefined {
  const start = Date.parse(`${day}T00:00:00Z`) / 1000;
  return Number.isNaN(start) ? undefined : start + later * DAY_SECONDS;
}
