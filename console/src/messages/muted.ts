import type { Conversation } from "../../../packages/parley-client/src/index.ts";

export function isMuted({ muted_until }: Pick<Conversation, "muted_until">): boolean {
  return muted_until !== null && muted_until > Date.now() / 1000;
}
