import { List } from "./list.ts";
import type { CallOptions, ChangeOptions, CreateOptions, Transport } from "./transport.ts";
import type { PushSubscription, PushSubscriptionFields, PushSubscriptionQuery } from "./types.ts";

const PATH = ["v1", "push_subscriptions"];

/** Devices that new messages are pushed to. */
export class PushSubscriptions {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(query: PushSubscriptionQuery = {}, options: CallOptions = {}): List<PushSubscription> {
    return new List(this.#transport, PATH, query, options);
  }

  /** Subscribes a device, or gives the caller's subscription with the same endpoint new keys. */
  create(fields: PushSubscriptionFields, options: CreateOptions = {}): Promise<PushSubscription> {
    return this.#transport.call({ ...options, method: "POST", path: PATH, body: fields });
  }

  retrieve(id: string, options: CallOptions = {}): Promise<PushSubscription> {
    return this.#transport.call({ ...options, method: "GET", path: [...PATH, id] });
  }

  delete(id: string, options: ChangeOptions = {}): Promise<void> {
    return this.#transport.remove([...PATH, id], options);
  }
}
