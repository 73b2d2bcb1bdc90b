import { List } from "./list.ts";
import type { CallOptions, ChangeOptions, CreateOptions, Transport } from "./transport.ts";
import type {
  Delivery,
  DeliveryQuery,
  Webhook,
  WebhookChanges,
  WebhookFields,
  WebhookQuery,
  WebhookWithSecret,
} from "./types.ts";

const PATH = ["v1", "webhooks"];

/** URLs that events are sent to. */
export class Webhooks {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(query: WebhookQuery = {}, options: CallOptions = {}): List<Webhook> {
    return new List(this.#transport, PATH, query, options);
  }

  /** Creates a webhook. Only this answer has the secret that signs its deliveries. */
  create(fields: WebhookFields, options: CreateOptions = {}): Promise<WebhookWithSecret> {
    return this.#transport.call({ ...options, method: "POST", path: PATH, body: fields });
  }

  retrieve(id: string, options: CallOptions = {}): Promise<Webhook> {
    return this.#transport.call({ ...options, method: "GET", path: [...PATH, id] });
  }

  update(id: string, changes: WebhookChanges, options: ChangeOptions = {}): Promise<Webhook> {
    return this.#transport.call({ ...options, method: "PUT", path: [...PATH, id], body: changes });
  }

  delete(id: string, options: ChangeOptions = {}): Promise<void> {
    return this.#transport.remove([...PATH, id], options);
  }

  /** Creates a new secret. The previous one also signs for 24 hours. */
  rotateSecret(id: string, options: CreateOptions = {}): Promise<WebhookWithSecret> {
    return this.#transport.call({ ...options, method: "POST", path: [...PATH, id, "secret"] });
  }

  /** Sends an event of the type `webhook.test`. */
  test(id: string, options: CreateOptions = {}): Promise<Delivery> {
    return this.#transport.call({ ...options, method: "POST", path: [...PATH, id, "test"] });
  }

  /** Lists deliveries, also those that wait. */
  listDeliveries(id: string, query: DeliveryQuery = {}, options: CallOptions = {}): List<Delivery> {
    return new List(this.#transport, [...PATH, id, "deliveries"], query, options);
  }

  /** Sends a delivery again. */
  redeliver(id: string, deliveryId: string, options: CreateOptions = {}): Promise<Delivery> {
    const path = [...PATH, id, "deliveries", deliveryId, "redeliver"];
    return this.#transport.call({ ...options, method: "POST", path });
  }
}
