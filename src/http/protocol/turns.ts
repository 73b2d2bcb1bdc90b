import type { FastifyRequest } from "fastify";
import type { Caller } from "../../core/node/caller.ts";
import type { Core } from "../../core/node/core.ts";
import { Turns } from "../../core/resource/turns.ts";

/** Runs work that may take many turns of the event loop, such as a search or a filtered list. Aborts if the client has gone. */
export async function inTurns<T>(
  { core, caller, request }: { core: Core; caller: Caller; request: FastifyRequest },
  work: (turns: Turns) => Promise<T>,
): Promise<T> {
  const turns = new Turns(core.limits, caller.userId, () => request.raw.socket.destroyed);
  try {
    return await work(turns);
  } finally {
    turns.end();
  }
}
