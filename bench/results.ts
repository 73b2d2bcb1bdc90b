// The measurements, the promises, and the file in which results wait for the page.
import { readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Medians: answers a second, and milliseconds. */
export interface Rate {
  rate: number;
  p50: number;
  p99: number;
  /** Microseconds of CPU per request: of the servers, and of the database if that is another process. */
  cpu: number;
  database: number;
}

/** The rate that is judged, and the one it is held against; the value is the one over the other. */
interface Compared {
  of: Rate;
  to: Rate;
}

export interface Result {
  value: number;
  /** The day, as 2026-01-31. */
  date: string;
  compared?: Compared;
}

/** The measurements of one place or peer. */
export interface Rates {
  date: string;
  /** Of PostgreSQL, or of the peer. */
  version: string;
  /** By the names of the rows; null: the peer has nothing like it. */
  rates: Record<string, Rate | null>;
}

/** Messages that were stored and delivered, by Parley or by a peer. */
export interface Delivered {
  version: string;
  date: string;
  rate: Rate;
}

/** Where the PostgreSQL of a node is. */
export type Place = keyof typeof PLACES;

export interface Results {
  /** Of the machine and the versions, by what it is. */
  about: Record<string, string>;
  rows: Record<string, Result>;
  postgres: Partial<Record<Place, Rates>>;
  peers: Record<string, Rates>;
  messengers: Record<string, Delivered>;
}

/** What the rows are: `least` and `most` are bounds (the value lies below `most`), and a goal lies beyond its bound. */
export interface Row {
  title: string;
  unit: "" | "us" | "ms" | "kB" | "MB" | "%";
  least?: number;
  most?: number;
  goal?: number;
}

/** Against the yardstick. */
export const RATIOS: Record<string, Row> = {
  retrieve: { title: "retrieve a contact", unit: "", least: 0.6, goal: 0.7 },
  list: { title: "list ten of 1,000", unit: "", least: 0.4, goal: 0.6 },
  listMany: { title: "list ten of 1,000,000", unit: "", least: 0.4, goal: 0.6 },
  create: { title: "create, names ascending", unit: "", least: 0.55, goal: 0.7 },
  createRandom: { title: "create, names random", unit: "", least: 0.55, goal: 0.7 },
  createMany: { title: "create, names random, of 1,000,000", unit: "" },
  sendWords: { title: "send a message of twenty words", unit: "" },
  upload4k: { title: "upload 4 KiB", unit: "", least: 0.55, goal: 0.85 },
  upload4kDrop: { title: "upload 4 KiB (yardstick keeps nothing)", unit: "" },
  upload64m: { title: "upload 64 MiB", unit: "", least: 0.85, goal: 1 },
  upload64mDrop: { title: "upload 64 MiB (yardstick keeps nothing)", unit: "" },
  download4k: { title: "download 4 KiB", unit: "", least: 1.5, goal: 3 },
  page: { title: "page of 20 messages", unit: "", least: 0.3 },
  inbox: { title: "page of 10 of 1,000 conversations", unit: "", least: 0.1 },
  download64m: { title: "download 64 MiB", unit: "", least: 1, goal: 1.4 },
};

/** The works measured on PostgreSQL. */
export const POSTGRES: Record<string, string> = {
  retrieve: "retrieve a contact",
  list: "list ten of 1,000",
  create: "create, names random, by one owner",
  createOwners: "create, names random, by 64 owners",
  send: "send a message to one person",
};

export const PLACES = {
  near: "one core",
  debian: "one core, Debian's PostgreSQL",
  half: "0.5 ms away",
  far: "2 ms away",
  ownCore: "on a separate core",
  twoNodes: "two nodes on two cores",
};

/** The name of the row that holds the bundled PostgreSQL against Debian's in this work. */
export const timesDebian = (row: string) => `${row}TimesDebian`;

function onDebian(): Record<string, Row> {
  const rows = Object.entries(POSTGRES).map(([name, title]) => [
    timesDebian(name),
    { title: `${title}: the rate on the bundled PostgreSQL, times that on Debian's`, unit: "", most: 1.3 },
  ]);
  return Object.fromEntries(rows);
}

export const OTHERS: Record<string, Row> = {
  pages: { title: "list page of 1,000,000 rows, times that of 1,000", unit: "", most: 1.15 },
  pages10m: { title: "the same with 10,000,000 rows in the table", unit: "", most: 1.15 },
  send: { title: "send a message, times create, names random", unit: "", least: 0.85 },
  sendPostgres: {
    title: "send a message to one person, times create by one owner, PostgreSQL",
    unit: "",
    least: 0.8,
  },
  rollbacks: {
    title: "transactions rolled back per create by 64 callers of one owner, PostgreSQL",
    unit: "",
    most: 0.01,
  },
  rollbacksOwners: { title: "the same by 64 owners", unit: "", most: 0.01 },
  ...onDebian(),
  delivered: { title: "CPU of a message sent, stored and delivered to one stream", unit: "us", most: 110 },
  newestPage: { title: "CPU of the newest of 1,000,000 messages, times of 1,000", unit: "", most: 1.15 },
  withheldPage: {
    title: "CPU of a page below 1,000,000 withheld messages, times without",
    unit: "",
    most: 1.15,
  },
  withheldInbox: { title: "CPU of the inbox, likewise", unit: "", most: 1.15 },
  withheldUnread: { title: "CPU of the count of unread conversations, likewise", unit: "", most: 1.15 },
  groupStored: { title: "CPU of a message to 256 members, stored", unit: "ms", most: 3 },
  groupDelivered: { title: "CPU of a message to 256 members who all listen", unit: "ms", most: 8 },
  groupDelay: {
    title: "p99 of 500 retrieves/s beside 20 such messages/s, less that alone",
    unit: "ms",
    most: 15,
  },
  groupNodesRate: {
    title: "messages/s to 256 members, four at a time, over two nodes on PostgreSQL",
    unit: "",
  },
  groupNodesStored: { title: "CPU of two nodes for such a message, stored", unit: "ms" },
  groupNodes: { title: "CPU of two nodes for such a message if all listen", unit: "ms" },
  messageMedian: { title: "500 messages/s on their way to 1,000 listeners, p50", unit: "ms" },
  message: { title: "500 messages/s on their way to 1,000 listeners, p99", unit: "ms", most: 50 },
  typing: { title: "1,000 people type to a contact who listens: of a core", unit: "%", most: 10 },
  typingRetrieve: { title: "as many retrieves/s beside the same streams: of a core", unit: "%" },
  typingIdle: { title: "the same streams alone: of a core", unit: "%" },
  typingPostgres: { title: "1,000 people type, on PostgreSQL: of a core", unit: "%" },
  typingGroup: { title: "CPU of typing in a group of 256 who all listen", unit: "ms", most: 8 },
  filterUsername: { title: "CPU of username= among 100,000, times among 1,000", unit: "", most: 1.5 },
  filterPhone: { title: "CPU of phone_number= among 100,000, times among 1,000", unit: "", most: 1.5 },
  filterActive: { title: "CPU of active=true among 100,000, times among 1,000", unit: "", most: 1.5 },
  filterBlocked: { title: "CPU of active=false among 100,000, times among 1,000", unit: "", most: 1.5 },
  filterWords: { title: "CPU of q= of two words among 100,000, times among 1,000", unit: "", most: 1.5 },
  filterFiles: { title: "CPU of files by q= among 100,000, times among 1,000", unit: "", most: 1.5 },
  searchAlone: { title: "p99 of 2,000 retrieves/s alone, before searches", unit: "ms" },
  searchBeside: { title: "p99 of them beside 4 searches of 100,000 contacts", unit: "ms" },
  searchTimes: { title: "the latter, times the former", unit: "", most: 2 },
  searchMedian: { title: "p50 of those searches", unit: "ms" },
  searchWord: {
    title: "p99 of searches for a word of up to 1,000 of 1,000,000 messages",
    unit: "ms",
    most: 50,
  },
  searchPrefix: { title: "p99 of searches for three letters that words begin with", unit: "ms", most: 50 },
  searchFrequent: { title: "p99 of searches for two of the most frequent words", unit: "ms" },
  messagesAlone: { title: "p99 of 500 retrieves/s alone, before such searches", unit: "ms" },
  messagesTimes: {
    title: "p99 of them beside 4 clients with such searches, times that alone",
    unit: "",
    most: 2,
  },
  searchSmall: {
    title: "CPU of a search in ten messages among 1,000,000 of others, times alone",
    unit: "",
    most: 1.15,
  },
  searchWordPostgres: { title: "p99 of the words, PostgreSQL", unit: "ms", most: 50 },
  searchPrefixPostgres: { title: "p99 of the three letters, PostgreSQL", unit: "ms", most: 50 },
  searchFrequentPostgres: { title: "p99 of the frequent words, PostgreSQL", unit: "ms" },
  messagesAlonePostgres: { title: "p99 of 500 retrieves/s alone, PostgreSQL", unit: "ms" },
  messagesTimesPostgres: { title: "the same beside searches, times alone, PostgreSQL", unit: "", most: 2 },
  searchSmallPostgres: {
    title: "CPU of a search in ten messages, likewise, PostgreSQL",
    unit: "",
    most: 1.15,
  },
  resumable1m: { title: "upload 1 MiB so that it can be continued, times in one request", unit: "" },
  resumable8m: { title: "upload 8 MiB likewise", unit: "" },
  resumable64m: {
    title: "upload 64 MiB in parts of 8 MiB, times in one request",
    unit: "",
    least: 0.8,
  },
  picture: { title: "a preview of a picture of 12 megapixels, p50", unit: "ms" },
  pictureMemory: { title: "memory (RSS) of the process that makes it, peak", unit: "MB" },
  picturesAlone: { title: "p99 of 500 retrieves/s alone, before such previews", unit: "ms" },
  picturesTimes: { title: "p99 of them beside such previews, times that alone", unit: "", most: 2 },
  readsAlone: { title: "p99 of 2,000 retrieves/s alone", unit: "ms" },
  readsBeside: { title: "p99 of 2,000 retrieves/s beside 1,000 creates/s", unit: "ms", most: 15 },
  readsTimes: { title: "the latter, times the former", unit: "", most: 2 },
  createsBeside: { title: "p99 of those creates", unit: "ms" },
  delayMedian: { title: "event-loop delay under full load, p50", unit: "ms" },
  delay: { title: "event-loop delay under full load, p99", unit: "ms", most: 50 },
  delayMax: { title: "event-loop delay under full load, longest", unit: "ms" },
  eventMedian: { title: "an event on its way to 1,000 listeners, p50", unit: "ms" },
  event: { title: "an event on its way to 1,000 listeners, p99", unit: "ms", most: 250 },
  listened: { title: "memory (RSS) with them", unit: "MB" },
  unlistened: { title: "memory (RSS) before they come", unit: "MB" },
  listener: { title: "memory (RSS) of each of them", unit: "kB" },
  listenerBare: { title: "memory (RSS) of each of them, bare node:http", unit: "kB" },
  listenerCpu: {
    title: "CPU of an event on its way to one of them, with its share of the change",
    unit: "us",
  },
  socketMedian: { title: "an event on its way to 1,000 WebSockets, p50", unit: "ms" },
  socket: { title: "an event on its way to 1,000 WebSockets, p99", unit: "ms", most: 250 },
  socketMemory: { title: "memory (RSS) of each WebSocket", unit: "kB" },
  socketCpu: { title: "CPU of an event on its way to one of them, with its share of the change", unit: "us" },
  sockets: { title: "WebSockets on one node, most of them at rest", unit: "" },
  socketsMemory: { title: "memory (RSS) of each of those at rest", unit: "kB" },
  socketsRest: { title: "CPU at rest with them: of a core", unit: "%" },
  socketsMedian: { title: "a message on its way to 1,000 of them, p50", unit: "ms" },
  socketsMessage: { title: "a message on its way to 1,000 of them, p99", unit: "ms" },
  idle: { title: "memory (RSS), idle", unit: "MB", most: 110 },
  idleBare: { title: "memory (RSS), idle, bare node:http", unit: "MB" },
  peak: { title: "memory (RSS), peak under full load", unit: "MB", most: 250 },
  growth: { title: "memory, end of a long full load, times that of its beginning", unit: "", most: 1.1 },
  start: { title: "start to first answer", unit: "ms", most: 400 },
  startBare: { title: "start to first answer, bare node:http", unit: "ms" },
  installCold: {
    title: "npx … dev to the first message on a page, nothing in npm's cache",
    unit: "ms",
    most: 60_000,
  },
  installWarm: { title: "the same, all in npm's cache", unit: "ms", most: 5000 },
  packageSize: { title: "installed npm package, without Node", unit: "MB", most: 60 },
  packageStart: { title: "start to first answer, npm package", unit: "ms", most: 400 },
  packageIdle: { title: "memory (RSS), idle, npm package", unit: "MB", most: 110 },
  fileSize: { title: "single file, with Node", unit: "MB" },
  fileStart: { title: "start to first answer, single file", unit: "ms" },
  fileIdle: { title: "memory (RSS), idle, single file", unit: "MB" },
};

export function verdict(row: Row, value: number): string {
  const { least, most, goal } = row;
  if (least === undefined && most === undefined) return "";
  if (least !== undefined ? value < least : value >= most!) return "not met";
  return goal !== undefined && value >= goal ? "goal met" : "met";
}

export function promise({ least, most, unit }: Row): string {
  if (least === undefined && most === undefined) return "";
  return `${least !== undefined ? `≥ ${least.toFixed(2)}` : `< ${most}`}${unit && ` ${unit}`}`;
}

export function shown(row: Row, value: number): string {
  return `${value.toFixed(row.unit === "" ? 2 : value < 10 ? 1 : 0)}${row.unit && ` ${row.unit}`}`;
}

export function shownCpu({ cpu, database }: Rate): string {
  return `${cpu.toFixed(0)}${database > 0 ? ` + ${database.toFixed(0)}` : ""}`;
}

const FILE = join(tmpdir(), "parley-bench.json");

/** Those of earlier runs too, so that parts can be measured one by one. */
export function loadResults(): Results {
  const none: Results = { about: {}, rows: {}, postgres: {}, peers: {}, messengers: {} };
  try {
    return { ...none, ...JSON.parse(readFileSync(FILE, "utf8")) };
  } catch {
    return none;
  }
}

export function saveResults(results: Results): void {
  writeFileSync(FILE, JSON.stringify(results, null, 2));
}
