// The table of audit entries, each a sentence. The downloads of a file share a row until somebody wants to see each.
import { useState } from "preact/hooks";
import type { AuditEntry } from "../../../packages/parley-client/src/index.ts";
import type { Pages } from "../ui/use-pages.ts";
import { type EntryGroup, groupEntries, type Phrase, toGroupSentence } from "./audit-words.ts";
import { UserLink } from "./directory.tsx";
import { Time } from "./parts.tsx";
import { toWebhookPlace } from "./places.ts";
import { type Column, Table } from "./table.tsx";

export function TrailTable({ label, pages }: { label: string; pages: Pages<AuditEntry> }) {
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const columns: Column<EntryGroup>[] = [
    {
      label: "What happened",
      kind: "name",
      cell: (group) => (
        <>
          <Sentence parts={toGroupSentence(group)} />{" "}
          {group.entries.length > 1 && (
            <button
              type="button"
              class="button small-button"
              onClick={() => setOpened((before) => new Set(before).add(group.id))}
            >
              Show each
            </button>
          )}
        </>
      ),
    },
    { label: "When", kind: "plain", cell: ({ entries }) => <Time seconds={entries[0]!.created_at} /> },
  ];
  const rows = groupEntries(pages.items).flatMap((group) =>
    opened.has(group.id) ? group.entries.map((entry) => ({ id: entry.id, entries: [entry] })) : group,
  );
  return <Table label={label} columns={columns} items={rows} isBusy={!pages.current} />;
}

function Sentence({ parts }: { parts: readonly Phrase[] }) {
  return (
    <span class="sentence">
      {parts.map((part, at) => {
        if (typeof part === "string") return part;
        if ("userId" in part) return <UserLink key={at} id={part.userId} name={part.name} />;
        return (
          <a key={at} href={toWebhookPlace(part.webhookId)}>
            {part.text}
          </a>
        );
      })}
    </span>
  );
}
