// A plain chart of horizontal bars as SVG, for light and dark pages alike.

interface Bar {
  value: number;
  text: string;
  series: 1 | 2 | 3;
}

/** Bars under one label, and marks across them: where a bound and a goal lie. */
interface Group {
  label: string;
  bars: Bar[];
  bound?: number | undefined;
  goal?: number | undefined;
}

export interface Chart {
  title: string;
  description: string;
  groups: Group[];
  /** What the colours and marks mean, in their order: series, then bound and goal if there are any. */
  legend: { mark: "1" | "2" | "3" | "bound" | "goal" | "one"; text: string }[];
  /** Where a line stands for the whole height. */
  line?: number;
}

const WIDTH = 800;
const LEFT = 290;
const RIGHT = 80;
const TOP = 70;
const BAR = 14;
const GAP = 10;
const LEGEND_STEP = 150;

const STYLE = `
    text { font: 13px system-ui, "DejaVu Sans", sans-serif; fill: #1f2328; }
    .title { font-size: 16px; font-weight: 600; }
    .s1 { fill: #2563eb; } .s2 { fill: #8b949e; } .s3 { fill: #d97706; }
    .one { stroke: #6e7781; stroke-dasharray: 3 3; }
    .bound { stroke: #cf222e; stroke-width: 2; } .goal { stroke: #1a7f37; stroke-width: 2; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3; }
      .s1 { fill: #58a6ff; } .s2 { fill: #8b949e; } .s3 { fill: #e3a04a; }
      .one { stroke: #9198a1; } .bound { stroke: #ff7b72; } .goal { stroke: #56d364; }
    }`;

const escaped = (text: string) => text.replace(/[&<>]/g, (found) => `&#${found.charCodeAt(0)};`);

function text(x: number, y: number, what: string, extra = ""): string {
  return `<text x="${x}" y="${y}"${extra}>${escaped(what)}</text>`;
}

function line(x: number, top: number, bottom: number, name: string): string {
  return `<line class="${name}" x1="${x}" x2="${x}" y1="${top}" y2="${bottom}"/>`;
}

function legend(chart: Chart): string[] {
  return chart.legend.flatMap((entry, i) => {
    const x = 10 + i * LEGEND_STEP;
    const sign = /\d/.test(entry.mark)
      ? `<rect class="s${entry.mark}" x="${x}" y="41" width="14" height="12"/>`
      : line(x + 7, 40, 54, entry.mark);
    return [sign, text(x + 20, 52, entry.text)];
  });
}

export function draw(chart: Chart): string {
  const values = chart.groups.flatMap(({ bars, bound, goal }) => [
    ...bars.map((bar) => bar.value),
    bound ?? 0,
    goal ?? 0,
  ]);
  const most = Math.max(...values, chart.line ?? 0);
  const xOf = (value: number) => Math.round(LEFT + (value / most) * (WIDTH - LEFT - RIGHT));
  const parts: string[] = [];
  let y = TOP;
  for (const group of chart.groups) {
    const height = group.bars.length * BAR;
    parts.push(text(LEFT - 10, y + height / 2 + 4, group.label, ' text-anchor="end"'));
    for (const [i, { value, text: label, series }] of group.bars.entries()) {
      const top = y + i * BAR;
      const width = Math.max(1, xOf(value) - LEFT);
      parts.push(`<rect class="s${series}" x="${LEFT}" y="${top}" width="${width}" height="${BAR - 2}"/>`);
      // Beside its bar; where marks could strike it through, in a separate column.
      const x = chart.line === undefined ? xOf(value) + 6 : WIDTH - RIGHT + 20;
      parts.push(text(x, top + BAR - 3, label));
    }
    if (group.bound !== undefined) parts.push(line(xOf(group.bound), y - 3, y + height + 1, "bound"));
    if (group.goal !== undefined) parts.push(line(xOf(group.goal), y - 3, y + height + 1, "goal"));
    y += height + GAP;
  }
  if (chart.line !== undefined) parts.unshift(line(xOf(chart.line), TOP - 6, y, "one"));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y + 10}" width="${WIDTH}" height="${y + 10}" role="img" aria-labelledby="title desc">
  <title id="title">${escaped(chart.title)}</title>
  <desc id="desc">${escaped(chart.description)}</desc>
  <style>${STYLE}
  </style>
  ${[text(10, 24, chart.title, ' class="title"'), ...legend(chart), ...parts].join("\n  ")}
</svg>
`;
}
