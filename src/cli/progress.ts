import { SingleBar } from "cli-progress";
import stringWidth from "string-width";
import { systemClock } from "../util/clock.ts";
import type { Io } from "./io.ts";
import { cut } from "./table.ts";
import { harmless } from "./text.ts";

const LINE_MS = 10_000;
const BAR_COLUMNS = 30;

/** How far something long is. */
interface Progress {
  /** So much of it is done, since its begin. */
  at(done: number): void;
  end(): void;
}

/**
 * A bar where a person watches; else a line now and then. `total` is undefined where it is not known; `show` writes an amount
 * for people.
 */
export function startProgress(
  io: Io,
  label: string,
  total: number | undefined,
  show: (amount: number) => string,
): Progress {
  const name = harmless(label);
  const begin = systemClock();
  let next = begin + LINE_MS;
  const format = (done: number, columns: number) =>
    total === undefined
      ? `${cut(name, Math.floor(columns / 2))} ${show(done)}${speed({ done, ms: systemClock() - begin }, show)}`
      : barLine(name, { done, total, ms: systemClock() - begin }, show, columns);
  const bar = io.isTerminal
    ? new SingleBar({
        format: (_options, { value, maxWidth = 80 }) => format(value, maxWidth),
        hideCursor: false,
      })
    : undefined;
  bar?.start(total ?? 0, 0);
  return {
    at(done) {
      bar?.update(done);
      if (bar || systemClock() < next) return;
      next = systemClock() + LINE_MS;
      io.warn(`… ${name}: ${show(done)}${total === undefined ? "" : ` of ${show(total)}`}`);
    },
    end() {
      bar?.stop();
    },
  };
}

interface Way {
  done: number;
  ms: number;
}

/** Name, bar, amount, speed and time left, in so many columns. */
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
  const room = columns - stringWidth(label) - numbers.length - 5;
  const width = Math.min(BAR_COLUMNS, Math.max(0, room));
  const filled = Math.round(part * width);
  return `${label} [${"=".repeat(filled)}${"-".repeat(width - filled)}] ${numbers}`;
}

function speed({ done, ms }: Way, show: (amount: number) => string): string {
  return ` ${show(ms > 0 ? Math.round((done / ms) * 1000) : 0)}/s`;
}

/** "1:05" for 65 seconds. */
function clockTime(seconds: number): string {
  const whole = Math.ceil(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  const rest = String(whole % 60).padStart(2, "0");
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}
