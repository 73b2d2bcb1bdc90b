import { systemClock } from "../util/clock.ts";
import type { Io } from "./io.ts";
import { cut } from "./table.ts";
import { harmless } from "./text.ts";
import { textWidth } from "./width.ts";

const LINE_MS = 10_000;
const REDRAW_MS = 100;
const BAR_COLUMNS = 30;

/** The progress of a long operation. */
interface Progress {
  /** Reports how much is done since the start. */
  at(done: number): void;
  end(): void;
}

/**
 * Shows a bar on a terminal, otherwise prints a line now and then. `total` is undefined if unknown; `show` formats an amount.
 */
export function startProgress(
  io: Io,
  label: string,
  total: number | undefined,
  show: (amount: number) => string,
): Progress {
  const name = harmless(label);
  const begin = systemClock();
  const { terminal } = io;
  let latest = 0;
  let next = begin + LINE_MS;
  function draw(on: NodeJS.WriteStream): void {
    const columns = on.columns || 80;
    const way = { done: latest, ms: systemClock() - begin };
    const line =
      total === undefined
        ? `${cut(name, Math.floor(columns / 2))} ${show(latest)}${speed(way, show)}`
        : barLine(name, { ...way, total }, show, columns);
    next = systemClock() + REDRAW_MS;
    // Clear the rest of the line: the new one may be shorter.
    on.write(`\r${cut(line, columns - 1)}\u001b[K`);
  }
  if (terminal) draw(terminal);
  return {
    at(done) {
      latest = done;
      if (systemClock() < next) return;
      if (terminal) draw(terminal);
      else {
        next = systemClock() + LINE_MS;
        io.warn(`… ${name}: ${show(done)}${total === undefined ? "" : ` of ${show(total)}`}`);
      }
    },
    end() {
      if (!terminal) return;
      draw(terminal);
      terminal.write("\n");
    },
  };
}

interface Way {
  done: number;
  ms: number;
}

/** Formats name, bar, amount, speed and time left, to fit the columns. */
function barLine(
  name: string,
  { done, total, ms }: Way & { total: number },
  show: (amount: number) => string,
  columns: number,
): string {
  const part = total === 0 ? 1 : Math.min(1, done / total);
  const left = part === 1 || done === 0 ? "" : ` ${clockTime(((total - done) * ms) / done / 1000)} left`;
  const numbers = `${Math.floor(part * 100)}% of ${show(total)}${speed({ done, ms }, show)}${left}`;
  const label = cut(name, Math.max(8, Math.floor(columns / 4)));
  const room = columns - textWidth(label) - numbers.length - 5;
  const width = Math.min(BAR_COLUMNS, Math.max(0, room));
  const filled = Math.round(part * width);
  return `${label} [${"=".repeat(filled)}${"-".repeat(width - filled)}] ${numbers}`;
}

function speed({ done, ms }: Way, show: (amount: number) => string): string {
  return ` ${show(ms > 0 ? Math.round((done / ms) * 1000) : 0)}/s`;
}

/** Formats seconds as a clock: "1:05" for 65. */
function clockTime(seconds: number): string {
  const whole = Math.ceil(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  const rest = String(whole % 60).padStart(2, "0");
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}
