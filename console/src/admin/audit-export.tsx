// Exports the entries that match the filters of the audit trail to a file.
import { useEffect, useRef, useState } from "preact/hooks";
import type { AuditEntry } from "../../../packages/parley-client/src/index.ts";
import { explain } from "../failures.ts";
import { useSession } from "../session/session.ts";
import { Choice } from "../ui/choice.tsx";
import { Dialog, FormButtons } from "../ui/dialog.tsx";
import { counted } from "../ui/format.ts";
import { toCsv } from "./audit-csv.ts";
import type { TrailFilter } from "./audit-pages.ts";
import { toDay } from "./days.ts";
import { useDirectory } from "./directory.tsx";

const FORMATS = [
  ["jsonl", "JSON lines"],
  ["csv", "CSV"],
] as const;
type Format = (typeof FORMATS)[number][0];

const MEDIA_TYPES: Record<Format, string> = { jsonl: "application/jsonl", csv: "text/csv" };
/** The browser holds the whole file in memory. */
const MAX_ENTRIES = 200_000;

export function ExportTrail({ filter, onClose }: { filter: TrailFilter; onClose: () => void }) {
  const { parley, say, endIfRefused } = useSession();
  const directory = useDirectory();
  const [format, setFormat] = useState<Format>("csv");
  const [progress, setProgress] = useState("");
  const [failure, setFailure] = useState("");
  const controller = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => controller.current?.abort(), []);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    controller.current = new AbortController();
    const { signal } = controller.current;
    setFailure("");
    setProgress("Reading…");
    try {
      const entries: AuditEntry[] = [];
      for await (const entry of filter === null ? [] : parley.audit.list(filter, { signal })) {
        if (entries.length === MAX_ENTRIES) break;
        entries.push(entry);
        if (entries.length % 100 === 0) setProgress(`${counted(entries.length, "entry", "entries")} read`);
      }
      const lines = format === "csv" ? await toCsv(entries, directory) : entries.map(toJsonLine);
      if (signal.aborted) return;
      save(new Blob(lines, { type: MEDIA_TYPES[format] }), `audit-${toDay(new Date())}.${format}`);
      const isCut = entries.length === MAX_ENTRIES;
      say(
        `${counted(entries.length, "entry was", "entries were")} exported.${isCut ? " There are more: narrow the time." : ""}`,
      );
      onClose();
    } catch (error) {
      if (signal.aborted) return;
      setProgress("");
      setFailure(`The export stopped. ${explain(error)}`);
      endIfRefused(error);
    }
  };
  return (
    <Dialog title="Export the audit trail" onClose={onClose}>
      <form onSubmit={submit}>
        <p>
          The file has the entries that the filters find, newest first, at most {MAX_ENTRIES.toLocaleString()}
          .
        </p>
        <Choice legend="Format" name="format" chosen={format} choices={FORMATS} onChoose={setFormat} />
        <p class="muted small" role="status">
          {progress}
        </p>
        <p class="failure" role="alert">
          {failure}
        </p>
        <FormButtons submit="Export" isBusy={progress !== ""} onClose={onClose} />
      </form>
    </Dialog>
  );
}

function toJsonLine(entry: AuditEntry): string {
  return `${JSON.stringify(entry)}\n`;
}

function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // By then the browser has started to read it.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
