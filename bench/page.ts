// Brings results into two pages, between their marks, and into the pictures beside them: docs/performance.md for readers,
// and bench/README.md, which also has the bounds and goals.
import { readFileSync, writeFileSync } from "node:fs";
import { type Chart, draw } from "./chart.ts";
import {
  OTHERS,
  PLACES,
  type Place,
  POSTGRES,
  promise,
  RATIOS,
  type Rate,
  type Results,
  type Row,
  shown,
  shownCpu,
  verdict,
} from "./results.ts";

const DOCS = new URL("../docs/performance.md", import.meta.url);
const BENCH = new URL("README.md", import.meta.url);
const BEGIN = "<!-- results: written by `npm run bench -- --page` -->";
const END = "<!-- end of results -->";

const count = (rate: number) => Math.round(rate >= 100 ? rate : rate * 10) / (rate >= 100 ? 1 : 10);
const perSecond = (rate: number) => count(rate).toLocaleString("en");
const times = ({ p50, p99 }: Rate) => `${p50.toFixed(1)} / ${p99.toFixed(1)}`;

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

function measured(results: Results, rows: Record<string, Row>) {
  return Object.entries(rows).flatMap(([name, row]) => {
    const result = results.rows[name];
    return result ? [{ name, row, ...result }] : [];
  });
}

/** What Parley does a second, without the yardstick. */
function rateTable(results: Results): string {
  const rows = measured(results, RATIOS)
    .filter(({ name }) => !name.endsWith("Drop"))
    .map(({ row, compared }) => [
      row.title,
      perSecond(compared!.of.rate),
      times(compared!.of),
      shownCpu(compared!.of),
    ]);
  return table(["work", "per second", "p50 / p99 ms", "CPU us"], rows);
}

function figureTable(results: Results): string {
  const rows = measured(results, OTHERS).map(({ row, value }) => [row.title, `**${shown(row, value)}**`]);
  return table(["what", "measured"], rows);
}

function ratioTable(results: Results): string {
  const rows = measured(results, RATIOS).map(({ row, value, compared }) => {
    const { of, to } = compared!;
    const goal = row.goal === undefined ? "" : row.goal.toFixed(2);
    const rates = [of, to].flatMap((rate) => [perSecond(rate.rate), times(rate), shownCpu(rate)]);
    return [row.title, ...rates, `**${shown(row, value)}**`, promise(row), goal, verdict(row, value)];
  });
  const measures = ["p50 / p99 ms", "CPU us"];
  const head = ["work", "Parley/s", ...measures, "bare/s", ...measures, "ratio", "bound", "goal", ""];
  return table(head, rows);
}

function otherTable(results: Results): string {
  const rows = measured(results, OTHERS).map(({ row, value }) => [
    row.title,
    `**${shown(row, value)}**`,
    promise(row),
    verdict(row, value),
  ]);
  return table(["what", "measured", "bound", ""], rows);
}

function messengerTable(results: Results): string {
  const rows = Object.entries(results.messengers).map(([name, { version, rate }]) => [
    name,
    version,
    perSecond(rate.rate),
    times(rate),
    shownCpu(rate),
  ]);
  return table(["messages stored and delivered", "version", "per second", "p50 / p99 ms", "CPU us"], rows);
}

/** The work that was measured on the peers: names, rates by who did it, and the rate of the yardstick. */
function peerRates(results: Results): { title: string; rates: (Rate | null)[]; bare: Rate | null }[] {
  const peers = Object.values(results.peers);
  const names = Object.keys(peers[0]!.rates);
  return names.map((name) => ({
    title: RATIOS[name]!.title,
    rates: [results.rows[name]?.compared?.of ?? null, ...peers.map((peer) => peer.rates[name] ?? null)],
    bare: results.rows[name]?.compared?.to ?? null,
  }));
}

const LEGEND = "Requests per second, p50 / p99 in ms, and CPU time per request (server + database)";
const cell = (rate: Rate | null | undefined) =>
  rate ? `${perSecond(rate.rate)} (${times(rate)}), ${shownCpu(rate)} us` : "-";

/** Parley on PostgreSQL, by the place of the database. */
function postgresTable(results: Results): string {
  const places = Object.keys(PLACES) as Place[];
  const rows = Object.entries(POSTGRES).map(([name, title]) => [
    title,
    ...places.map((place) => cell(results.postgres[place]?.rates[name])),
  ]);
  const heads = places.map((place) => [PLACES[place], results.postgres[place]?.version].join(" ").trim());
  return table(["work", ...heads], rows);
}

function peerTable(results: Results): string {
  const names = Object.entries(results.peers).map(([name, { version }]) => `${name} ${version}`);
  const rows = peerRates(results).map(({ title, rates, bare }) => [title, ...[...rates, bare].map(cell)]);
  return table(["work", "Parley", ...names, "bare node:http"], rows);
}

function ratioChart(results: Results): Chart {
  const all = measured(results, RATIOS).filter(({ name }) => !name.endsWith("Drop"));
  return {
    title: "Parley against bare node:http on one core",
    description: all.map(({ row, value }) => `${row.title}: ${shown(row, value)}`).join("; "),
    groups: all.map(({ row, value }) => ({
      label: row.title,
      bars: [{ value, text: shown(row, value), series: 1 as const }],
      bound: row.least,
      goal: row.goal,
    })),
    legend: [
      { mark: "1", text: "Parley" },
      { mark: "one", text: "bare node:http" },
      { mark: "bound", text: "bound" },
      { mark: "goal", text: "goal" },
    ],
    line: 1,
  };
}

function peerChart(results: Results): Chart {
  const names = ["Parley", ...Object.keys(results.peers)];
  const all = peerRates(results);
  const series = [1, 2, 3] as const;
  const told = ({ title, rates }: (typeof all)[number]) =>
    `${title}: ${rates.map((rate, i) => `${names[i]} ${rate ? perSecond(rate.rate) : "cannot"}`).join(", ")}`;
  return {
    title: "Answers a second on one core",
    description: all.map(told).join("; "),
    groups: all.map(({ title, rates }) => ({
      label: title,
      bars: rates.flatMap((rate, i) =>
        rate ? [{ value: rate.rate, text: perSecond(rate.rate), series: series[i]! }] : [],
      ),
    })),
    legend: names.map((text, i) => ({ mark: `${series[i]!}` as const, text })),
  };
}

/** Where the parts were measured on several days, both ends of the time. */
function dates(results: Results): string {
  const all = [results.rows, results.postgres, results.peers, results.messengers]
    .flatMap((each) => Object.values<{ date: string }>(each))
    .map(({ date }) => date)
    .sort();
  return all[0] === all.at(-1) ? all[0]! : `${all[0]} to ${all.at(-1)}`;
}

export function writePages(results: Results): void {
  const about = Object.entries(results.about).map(([name, value]) => `${name} ${value}`);
  const heading = `Measured ${dates(results)}: ${about.join(", ")}.`;
  const parts = [heading];
  if (Object.keys(results.peers).length > 0) {
    writeFileSync(new URL("performance-peers.svg", DOCS), draw(peerChart(results)));
    const picture =
      "![Requests per second of Parley and others, as in the table below](performance-peers.svg)";
    parts.push(`${LEGEND}:`, picture, peerTable(results));
  }
  if (Object.keys(results.messengers).length > 0) parts.push(messengerTable(results));
  const onPostgres = [`${LEGEND}, on PostgreSQL:`, postgresTable(results)];
  replaceBetweenMarks(DOCS, [...parts, ...onPostgres, rateTable(results), figureTable(results)]);
  writeFileSync(new URL("ratios.svg", BENCH), draw(ratioChart(results)));
  const picture = "![Ratios to bare node:http, as in the table below](ratios.svg)";
  replaceBetweenMarks(BENCH, [heading, picture, ratioTable(results), ...onPostgres, otherTable(results)]);
}

function replaceBetweenMarks(page: URL, parts: string[]): void {
  const [before, , after] = readFileSync(page, "utf8").split(new RegExp(`(?<=${BEGIN})|(?=${END})`));
  writeFileSync(page, `${before}\n\n${parts.join("\n\n")}\n\n${after}`);
}
