/** Upper bounds in seconds, from a read out of memory to a large upload. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30];

interface Series {
  method: string;
  route: string;
  statuses: Map<string | number, number>;
  /** The number of requests in each bucket, without those of smaller buckets. */
  buckets: number[];
  /** Seconds. */
  sum: number;
  count: number;
}

/** Counts requests and their durations. It runs at each request, and the metrics library takes five times as long. */
export class RequestStats {
  readonly #series = new Map<string, Map<string, Series>>();

  /** Counts an answer. Call this once for each. */
  add(method: string, route: string, status: string | number, seconds: number): void {
    const series = this.#series.get(route)?.get(method) ?? this.#begin(method, route);
    series.statuses.set(status, (series.statuses.get(status) ?? 0) + 1);
    series.sum += seconds;
    series.count++;
    let bucket = 0;
    while (bucket < BUCKETS.length && seconds > BUCKETS[bucket]!) bucket++;
    if (bucket < BUCKETS.length) series.buckets[bucket]!++;
  }

  /** Renders the text format of Prometheus. No label needs escaping: methods are tokens, and routes are part of this code. */
  text(): string {
    const all = [...this.#series.values()].flatMap((methods) => [...methods.values()]);
    const lines = [
      "# HELP parley_http_requests_total Requests answered.",
      "# TYPE parley_http_requests_total counter",
      ...all.flatMap(totals),
      "# HELP parley_http_request_duration_seconds From the headers' arrival to the answer's end.",
      "# TYPE parley_http_request_duration_seconds histogram",
      ...all.flatMap(durations),
    ];
    return `${lines.join("\n")}\n`;
  }

  #begin(method: string, route: string): Series {
    const series = { method, route, statuses: new Map(), buckets: BUCKETS.map(() => 0), sum: 0, count: 0 };
    const methods = this.#series.get(route) ?? new Map<string, Series>();
    this.#series.set(route, methods.set(method, series));
    return series;
  }
}

function totals({ method, route, statuses }: Series): string[] {
  return [...statuses].map(
    ([status, count]) =>
      `parley_http_requests_total{method="${method}",route="${route}",status="${status}"} ${count}`,
  );
}

function durations({ method, route, buckets, sum, count }: Series): string[] {
  const name = "parley_http_request_duration_seconds";
  const labels = `method="${method}",route="${route}"`;
  let below = 0;
  const cumulative = BUCKETS.map((bound, i) => {
    below += buckets[i]!;
    return `${name}_bucket{le="${bound}",${labels}} ${below}`;
  });
  return [
    ...cumulative,
    `${name}_bucket{le="+Inf",${labels}} ${count}`,
    `${name}_sum{${labels}} ${sum}`,
    `${name}_count{${labels}} ${count}`,
  ];
}
