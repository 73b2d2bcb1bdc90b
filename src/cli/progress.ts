import { SingleBar } from "cli-progress";
import { OperatorError } from "../errors.ts";
import { systemClock } from "../util/clock.ts";
import type { Io } from "./io.ts";

const LINE_MS = 10_000;

/** One step of a long command, of which it is known how much there is to do. */
export interface Progress {
  /** Throws `OperatorError` when the process is asked to end. */
  add(count: number): void;
  end(): void;
}

/** A bar where a person watches; else a line now and then. */
export function startProgress(io: Io, step: string, total: number): Progress {
  const format = `${step.padEnd(16)} [{bar}] {percentage}% of {total}`;
  const bar = io.isTerminal ? new SingleBar({ format, hideCursor: false }) : undefined;
  bar?.start(total, 0);
  let done = 0;
  let next = systemClock() + LINE_MS;
  return {
    add(count) {
      done += count;
      bar?.update(Math.min(done, total));
      if (io.stop.aborted)
        throw new OperatorError("Stopped before the end. Run it again: it goes on from there.");
      if (bar || systemClock() < next) return;
      next = systemClock() + LINE_MS;
      io.warn(`… ${step}: ${done} of ${total}`);
    },
    end() {
      bar?.stop();
    },
  };
}
