/** Webhooks to remember. Beyond, the one that began to fail first is forgotten, and may be reported again. */
const MAX_WEBHOOKS = 1000;

/** The reasons for which webhooks did not answer, so that the log has each once, not for every attempt. */
export class NoAnswers {
  readonly #reasons = new Map<string, Set<string>>();

  /** Returns whether the webhook has not failed for this reason since it last accepted an event. */
  note(webhookId: string, error: unknown): boolean {
    const reasons = this.#reasons.get(webhookId) ?? new Set();
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code ?? message;
    if (reasons.has(reason)) return false;
    if (reasons.size === 0 && this.#reasons.size === MAX_WEBHOOKS)
      this.#reasons.delete(this.#reasons.keys().next().value!);
    this.#reasons.set(webhookId, reasons.add(reason));
    return true;
  }

  /** Forgets the reasons of a webhook that accepts events. */
  forget(webhookId: string): void {
    this.#reasons.delete(webhookId);
  }
}
