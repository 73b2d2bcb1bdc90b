// Parses the Prometheus text format and computes the figures of the overview.

interface Value {
  labels: Readonly<Record<string, string>>;
  value: number;
}

/** The values of each metric, by name. */
export type Metrics = ReadonlyMap<string, readonly Value[]>;

/** Metrics at one time, in seconds. */
export interface Sample {
  at: number;
  metrics: Metrics;
}

/** The figures of one sample. Null if the server does not report them. */
export interface Figures {
  at: number;
  /** Per second. */
  requests: number | null;
  /** Responses per second with status 5xx, and with status 4xx. */
  errors: number | null;
  refusals: number | null;
  /** In seconds: the median and the 99th percentile of the requests. */
  median: number | null;
  slowest: number | null;
  /** Waiting writes. */
  queue: number | null;
  /** In bytes. */
  diskFree: number | null;
  memory: number | null;
  streams: number | null;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

export function parseMetrics(text: string): Metrics {
  const metrics = new Map<string, Value[]>();
  for (const line of text.split("\n")) {
    const [, name, labels = "", number] = LINE.exec(line) ?? [];
    if (name === undefined) continue;
    const values = metrics.get(name) ?? [];
    const pairs = [...labels.matchAll(LABEL)].map(([, label, value]) => [label!, value!] as const);
    values.push({ labels: Object.fromEntries(pairs), value: Number(number) });
    metrics.set(name, values);
  }
  return metrics;
}

/** Returns a value without labels, or the sum over all labels; null if there is none. */
export function readValue(metrics: Metrics, name: string): number | null {
  const values = metrics.get(name);
  return values ? values.reduce((sum, { value }) => sum + value, 0) : null;
}

/** Returns a label of the first value, such as the version of the server. */
export function readLabel(metrics: Metrics, name: string, label: string): string | undefined {
  return metrics.get(name)?.[0]?.labels[label];
}

/** Requests of probes and of this page itself. */
const WATCHERS = new Set(["/metrics", "/readyz", "/healthz"]);
/** Excluded: a stream lasts as long as its client wants. */
const STREAM = "/v1/events";

const REQUESTS = "parley_http_requests_total";
const BUCKETS = "parley_http_request_duration_seconds_bucket";

export function toFigures(before: Sample | undefined, { at, metrics }: Sample): Figures {
  const seconds = before && at - before.at;
  const perSecond = (isCounted: (status: string) => boolean): number | null => {
    if (!before || !seconds) return null;
    const count = (of: Metrics) =>
      (of.get(REQUESTS) ?? [])
        .filter(({ labels }) => !WATCHERS.has(labels.route ?? "") && isCounted(labels.status ?? ""))
        .reduce((sum, { value }) => sum + value, 0);
    const grown = count(metrics) - count(before.metrics);
    // A restarted server counts from zero.
    return grown < 0 ? null : grown / seconds;
  };
  const buckets = before ? toGrownBuckets(before.metrics, metrics) : [];
  return {
    at,
    requests: perSecond(() => true),
    errors: perSecond((status) => status.startsWith("5")),
    refusals: perSecond((status) => status.startsWith("4")),
    median: toQuantile(buckets, 0.5),
    slowest: toQuantile(buckets, 0.99),
    queue: readValue(metrics, "parley_write_queue_length"),
    diskFree: readValue(metrics, "parley_disk_free_bytes"),
    memory: readValue(metrics, "process_resident_memory_bytes"),
    streams: readValue(metrics, "parley_event_streams"),
  };
}

/** How many requests took at most this long. */
interface Bucket {
  bound: number;
  count: number;
}

/** Returns the histogram buckets of the requests that ended between two samples, the fastest first. */
function toGrownBuckets(before: Metrics, after: Metrics): Bucket[] {
  const sums = new Map<number, number>();
  const add = (metrics: Metrics, sign: 1 | -1) => {
    for (const { labels, value } of metrics.get(BUCKETS) ?? []) {
      if (WATCHERS.has(labels.route ?? "") || labels.route === STREAM) continue;
      const bound = labels.le === "+Inf" ? Infinity : Number(labels.le);
      sums.set(bound, (sums.get(bound) ?? 0) + sign * value);
    }
  };
  add(after, 1);
  add(before, -1);
  return [...sums].map(([bound, count]) => ({ bound, count })).sort((a, b) => a.bound - b.bound);
}

/** Returns the duration that this share of the requests did not exceed; null if there were none. */
export function toQuantile(buckets: readonly Bucket[], share: number): number | null {
  const total = buckets.at(-1)?.count ?? 0;
  if (total <= 0) return null;
  const rank = share * total;
  let lower = { bound: 0, count: 0 };
  for (const bucket of buckets) {
    if (bucket.count >= rank) {
      if (bucket.bound === Infinity) return lower.bound;
      const part = (rank - lower.count) / (bucket.count - lower.count || 1);
      return lower.bound + (bucket.bound - lower.bound) * part;
    }
    lower = bucket;
  }
  return null;
}
