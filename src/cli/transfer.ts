import { SingleBar } from "cli-progress";
import stringWidth from "string-width";
import { systemClock } from "../util/clock.ts";
import type { Io } from "./io.ts";
import { cut } from "./table.ts";
import { harmless, inBytes } from "./text.ts";

const LINE_MS = 10_000;
const BAR_COLUMNS = 30;

/** A file on its way. */
interface Transfer {
  /** So many bytes of it are over, since its begin. */
  at(bytes: number): void;
  end(): void;
}

/** A bar where a person watches; else a line now and then. */
export function startTransfer(io: Io, filename: string, total: number): Transfer {
  const name = harmless(filename);
  const begin = systemClock();
  let next = begin + LINE_MS;
  const bar = io.isTerminal
    ? new SingleBar({
        format: (_options, { value, maxWidth = 80 }) =>
          barLine(name, { done: value, total, ms: systemClock() - begin }, maxWidth),
        hideCursor: false,
      })
    : undefined;
  bar?.start(total, 0);
  return {
    at(bytes) {
      bar?.update(bytes);
      if (bar || systemClock() < next) return;
      next = systemClock() + LINE_MS;
      io.warn(`… ${name}: ${inBytes(bytes)} of ${inBytes(total)}`);
    },
    end() {
      bar?.stop();
    },
  };
}

interface Way {
  done: number;
  total: number;
  ms: number;
}

/** Name, bar, size, speed and time left, in so many columns. */
function barLine(name: string, { done, total, ms }: Way, columns: number): string {
  const part = total === 0 ? 1 : Math.min(1, done / total);
  const perSecond = ms > 0 ? (done / ms) * 1000 : 0;
  const left = part === 1 || perSecond === 0 ? "" : ` ${clockTime((total - done) / perSecond)} left`;
  const numbers = `${Math.floor(part * 100)}% of ${inBytes(total)} ${inBytes(Math.round(perSecond))}/s${left}`;
  const label = cut(name, Math.max(8, Math.floor(columns / 4)));
  const room = columns - stringWidth(label) - numbers.length - 5;
  const width = Math.min(BAR_COLUMNS, Math.max(0, room));
  const filled = Math.round(part * width);
  return `${label} [${"=".repeat(filled)}${"-".repeat(width - filled)}] ${numbers}`;
}

/** "1:05" for 65 seconds. */
function clockTime(seconds: number): string {
  const whole = Math.ceil(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  const rest = String(whole % 60).padStart(2, "0");
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}
