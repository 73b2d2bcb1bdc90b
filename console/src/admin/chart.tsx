// A small chart of a figure over the last minutes.
import { useState } from "preact/hooks";
import { formatClockWithSeconds } from "./words.ts";

export interface ChartPoint {
  /** Seconds. */
  at: number;
  /** Null: unknown, drawn as a gap. */
  value: number | null;
}

const WIDTH = 300;
const HEIGHT = 64;
/** The minimum time span of a chart, in seconds. */
const MIN_SPAN = 60;

export function Chart(props: {
  label: string;
  points: readonly ChartPoint[];
  /** The minimum value at the top of the chart, so that noise does not look like a mountain. */
  top: number;
  format: (value: number) => string;
  /** Explains the figure, or shows a second one. Default: the highest value so far. */
  note?: string | undefined;
  /** Highlights any value but zero. */
  isAlarm?: boolean;
}) {
  const { label, points, format } = props;
  const [chosen, setChosen] = useState<ChartPoint>();
  const known = points.filter((point): point is { at: number; value: number } => point.value !== null);
  const last = known.at(-1);
  const top = Math.max(props.top, ...known.map(({ value }) => value * 1.1));
  const end = points.at(-1)?.at ?? 0;
  const start = Math.min(points[0]?.at ?? 0, end - MIN_SPAN);
  const toX = (at: number) => ((at - start) / (end - start)) * WIDTH;
  const toY = (value: number) => HEIGHT - (value / top) * (HEIGHT - 2);
  const shown = chosen ?? last;
  const choose = (event: PointerEvent) => {
    const { left, width } = (event.currentTarget as Element).getBoundingClientRect();
    const at = start + ((event.clientX - left) / width) * (end - start);
    setChosen(nearest(known, at));
  };
  const isBad = props.isAlarm && (last?.value ?? 0) > 0;
  return (
    <figure class={isBad ? "chart bad" : "chart"}>
      <figcaption>
        <span class="chart-label">{label}</span>
        <span class="chart-value">{shown?.value == null ? "–" : format(shown.value)}</span>
        <span class="muted small">
          {chosen ? formatClockWithSeconds(chosen.at) : (props.note ?? highest(known, format))}
        </span>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={describe(label, known, format)}
        onPointerMove={choose}
        onPointerLeave={() => setChosen(undefined)}
      >
        {toRuns(points).map((run) => {
          // Draw a single point as a dot: a line of no length with round ends.
          const points = run.length > 1 ? run : [run[0]!, run[0]!];
          const line = points.map(({ at, value }) => `${toX(at).toFixed(1)},${toY(value).toFixed(1)}`);
          const [first, final] = [toX(run[0]!.at), toX(run.at(-1)!.at)];
          return (
            <g key={run[0]!.at}>
              <polygon points={`${first},${HEIGHT} ${line.join(" ")} ${final},${HEIGHT}`} />
              <polyline class={run.length > 1 ? undefined : "dot"} points={line.join(" ")} />
            </g>
          );
        })}
        {chosen && <line x1={toX(chosen.at)} x2={toX(chosen.at)} y1="0" y2={HEIGHT} />}
      </svg>
    </figure>
  );
}

interface KnownPoint {
  at: number;
  value: number;
}

/** Splits the points at the gaps. */
function toRuns(points: readonly ChartPoint[]): KnownPoint[][] {
  const runs: KnownPoint[][] = [[]];
  for (const { at, value } of points) {
    if (value !== null) runs.at(-1)!.push({ at, value });
    else if (runs.at(-1)!.length > 0) runs.push([]);
  }
  return runs.filter((run) => run.length > 0);
}

function nearest(points: readonly KnownPoint[], at: number): KnownPoint | undefined {
  let best = points[0];
  for (const point of points) if (Math.abs(point.at - at) < Math.abs(best!.at - at)) best = point;
  return best;
}

function highest(known: readonly KnownPoint[], format: (value: number) => string): string {
  return known.length > 0
    ? `highest ${format(Math.max(...known.map(({ value }) => value)))}`
    : "not known yet";
}

function describe(label: string, known: readonly KnownPoint[], format: (value: number) => string): string {
  const last = known.at(-1);
  if (!last) return `${label}: not known yet`;
  const values = known.map(({ value }) => value);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return `${label}: now ${format(last.value)}, from ${format(least)} to ${format(most)} since ${formatClockWithSeconds(known[0]!.at)}`;
}
