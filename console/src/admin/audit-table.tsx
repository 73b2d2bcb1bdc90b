// The table of audit entries, each a sentence.
import type { AuditEntry } from "../../../packages/parley-client/src/index.ts";
import type { Pages } from "../ui/use-pages.ts";
import { type Phrase, toSentence } from "./audit-words.ts";
import { UserLink } from "./directory.tsx";
import { Time } from "./parts.tsx";
import { toWebhookPlace } from "./places.ts";
import { type Column, Table } from "./table.tsx";

const COLUMNS: readonly Column<AuditEntry>[] = [
  { label: "What happened", kind: "name", cell: (entry) => <Sentence parts={toSentence(entry)} /> },
  { label: "When", kind: "plain", cell: ({ created_at }) => <Time seconds={created_at} /> },
];

export function TrailTable({ label, pages }: { label: string; pages: Pages<AuditEntry> }) {
  return <Table label={label} columns={COLUMNS} items={pages.items} isBusy={!pages.current} />;
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
