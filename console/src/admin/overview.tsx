// The state of the server: whether it is ready, its version, and charts of its metrics.
import { explain } from "../failures.ts";
import { counted, formatAgo, formatSize } from "../ui/format.ts";
import { FirstUsers, useIsAlone } from "../ui/nothing.tsx";
import { Reading } from "../ui/page-notes.tsx";
import { useRedraw } from "../ui/use-redraw.ts";
import { Chart, type ChartPoint } from "./chart.tsx";
import { FailingWebhooks } from "./failing-webhooks.tsx";
import { RevokeLeaked } from "./leaked-token.tsx";
import { type Figures, type Metrics, readLabel, readValue } from "./metrics.ts";
import type { MetricsFeed } from "./metrics-feed.ts";
import { Badge, Facts, PageHead, useVisibleInterval } from "./parts.tsx";
import { StorageSection } from "./storage-section.tsx";
import { formatLatency, formatNumber, formatRate, formatUptime } from "./words.ts";

const POLL_MS = 5000;

export function Overview({ feed }: { feed: MetricsFeed }) {
  const redraw = useRedraw();
  const isAlone = useIsAlone();
  useVisibleInterval(() => void feed.read().then(redraw), POLL_MS);
  const { metrics, isReady, failure } = feed;
  return (
    <>
      <PageHead title="Overview">
        <RevokeLeaked />
      </PageHead>
      {isAlone && (
        <div class="empty">
          <FirstUsers heading="h2" />
        </div>
      )}
      {failure !== undefined && (
        <p class="failure" role="alert">
          The figures are not up to date. {explain(failure)}
        </p>
      )}
      {!metrics && failure === undefined && <Reading />}
      {metrics && isReady !== undefined && <State metrics={metrics} isReady={isReady} />}
      <FailingWebhooks />
      {metrics && <Charts figures={feed.figures} metrics={metrics} />}
      <StorageSection stored={metrics ? readValue(metrics, "parley_stored_bytes") : null} />
    </>
  );
}

/** The health checks by the label of their metric, with what to do if one fails. */
const PARTS: Readonly<Record<string, readonly [name: string, advice: string]>> = {
  database: ["Database", "The database does not answer. Check that it runs, and read the log of the server."],
  store: [
    "File storage",
    "The file storage does not answer. Check that it runs, and read the log of the server.",
  ],
  disk: [
    "Disk",
    "A write to the disk failed, so the server writes nothing more. Check the disk, then restart the server.",
  ],
};

function State({ metrics, isReady }: { metrics: Metrics; isReady: boolean }) {
  const parts = (metrics.get("parley_up") ?? []).map(({ labels: { part = "" }, value }) => {
    const [name, advice] = PARTS[part] ?? [part, "A check fails. Read the log of the server."];
    return { name, advice, isUp: value === 1 };
  });
  const failing = parts.filter(({ isUp }) => !isUp).map(({ advice }) => advice);
  const why = failing.join(" ") || "The server is busy or stopping. If this lasts, read its log.";
  const version = readLabel(metrics, "parley_build_info", "version");
  const uptime = readValue(metrics, "process_uptime_seconds");
  const backup = readValue(metrics, "parley_last_backup_timestamp_seconds");
  return (
    <section class={isReady ? "verdict good" : "verdict bad"} aria-label="State">
      <p class="verdict-head">
        <Badge tone={isReady ? "good" : "bad"}>{isReady ? "Ready" : "Not ready"}</Badge>
        <span>{isReady ? "All checks pass." : why}</span>
      </p>
      <Facts
        facts={[
          ...parts.map(
            ({ name, isUp }) =>
              [
                name,
                <Badge key={name} tone={isUp ? "good" : "bad"}>
                  {isUp ? "OK" : "Failing"}
                </Badge>,
              ] as const,
          ),
          ...(version ? [["Version", version] as const] : []),
          ...(uptime === null ? [] : [["Running for", formatUptime(uptime)] as const]),
          ...(backup === null ? [] : [["Last backup", backup ? formatAgo(backup) : "None"] as const]),
        ]}
      />
    </section>
  );
}

function Charts({ figures, metrics }: { figures: readonly Figures[]; metrics: Metrics }) {
  const to = (name: Exclude<keyof Figures, "at">): ChartPoint[] =>
    figures.map((each) => ({ at: each.at, value: each[name] }));
  const last = figures.at(-1);
  const diskTotal = readValue(metrics, "parley_disk_total_bytes");
  const erasing = readValue(metrics, "parley_tombstones");
  const median = last?.median ?? null;
  return (
    <section class="charts" aria-label="Figures of the last 15 minutes">
      <Chart label="Requests" points={to("requests")} top={1} format={formatRate} />
      <Chart
        label="Server errors"
        points={to("errors")}
        top={1}
        format={formatRate}
        note={`${formatRate(last?.refusals ?? 0)} refused (4xx)`}
        isAlarm
      />
      <Chart
        label="Latency"
        points={to("slowest")}
        top={0.01}
        format={formatLatency}
        note={median === null ? "p99" : `p99, p50 ${formatLatency(median)}`}
      />
      <Chart
        label="Queued writes"
        points={to("queue")}
        top={10}
        format={formatNumber}
        note={erasing ? `${counted(erasing, "file", "files")} to erase` : undefined}
      />
      {last?.streams != null && (
        <Chart label="Event streams" points={to("streams")} top={10} format={formatNumber} />
      )}
      <Chart label="Memory" points={to("memory")} top={1} format={formatSize} />
      {diskTotal !== null && (
        <Chart
          label="Free disk"
          points={to("diskFree")}
          top={diskTotal}
          format={formatSize}
          note={`of ${formatSize(diskTotal)}`}
        />
      )}
    </section>
  );
}
