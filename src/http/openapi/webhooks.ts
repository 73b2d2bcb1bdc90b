import { eventResource, sharedEventResource, testEventResource } from "../../core/events/event-fields.ts";
import type { Resource } from "../../core/resource/schema.ts";
import { schemaOf } from "./responses.ts";

/** The `webhooks` of the document: the requests that Parley sends. */
export const webhooks = {
  event: sent(eventResource, "An event"),
  shared: sent(sharedEventResource, "A change, sent to a webhook of all users"),
  test: sent(testEventResource, "The event of a test"),
};

function sent(event: Resource, summary: string): object {
  return {
    post: {
      operationId: `receive${event.name}`,
      tags: ["webhooks"],
      summary,
      security: [],
      parameters: [
        header("webhook-id", "The id of the event, the same for every attempt."),
        header("webhook-timestamp", "When this attempt was sent, in Unix seconds."),
        header("webhook-signature", "One or more signatures, separated by spaces (Standard Webhooks 1.0.0)."),
      ],
      requestBody: { required: true, content: { "application/json": { schema: schemaOf(event) } } },
      responses: {
        "2XX": { description: "Accepted. After any other status Parley retries for three days." },
        410: { description: "Parley disables the webhook and sends nothing more." },
      },
    },
  };
}

function header(name: string, description: string): object {
  return { name, in: "header", required: true, description, schema: { type: "string" } };
}
