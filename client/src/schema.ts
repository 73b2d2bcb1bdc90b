// Made from src/http/openapi.json by `npm run client-types`. A test holds it to that.

/** Resources, as they are answered. */
export interface components {
  schemas: {
    Contact: {
      id: string;
      username: string;
      phone_number: string;
      avatar_url: string | null;
      /** Null when none is set: show the username. */
      display_name: string | null;
      conversation_id: string;
      /** Unix seconds, UTC. Null for a new contact. */
      last_active_at: number | null;
      /** Unix seconds, UTC. */
      created_at: number;
    };
    /** Items, newest first. */
    ContactPage: {
      /** Whether there are more items beyond this page. */
      has_more: boolean;
      data: (components["schemas"]["Contact"])[];
    };
    Attachment: {
      id: string;
      message_id: string;
      filename: string;
      /** Signed; works without a token for one to two hours. */
      file_url: string;
      /** MIME type. */
      file_type: string;
      /** Bytes. */
      file_size: number;
      /** Unix seconds, UTC. */
      created_at: number;
    };
    /** Items, newest first. */
    AttachmentPage: {
      /** Whether there are more items beyond this page. */
      has_more: boolean;
      data: (components["schemas"]["Attachment"])[];
    };
    /** Something that has happened to what the recipient sees. */
    Event: {
      id: string;
      type: "attachment.created" | "attachment.deleted" | "attachment.updated" | "contact.created" | "contact.deleted" | "contact.updated" | "webhook.disabled";
      /** Unix seconds, UTC. */
      timestamp: number;
      /** Whom it is told to. */
      user_id: string;
      /** `cnv_…`; null: it is of none. */
      conversation_id: string | null;
      /** The contact, the attachment or the webhook, as the recipient would have retrieved it. */
      payload: components["schemas"]["Contact"] | components["schemas"]["Attachment"] | components["schemas"]["Webhook"];
    };
    /** Items, newest first. */
    EventPage: {
      /** Whether there are more items beyond this page. */
      has_more: boolean;
      data: (components["schemas"]["Event"])[];
    };
    Webhook: {
      id: string;
      /** As the URL Standard (WHATWG) writes it. */
      url: string;
      /** Types of events; null: all. */
      events: ("attachment.created" | "attachment.deleted" | "attachment.updated" | "contact.created" | "contact.deleted" | "contact.updated" | "webhook.disabled")[] | null;
      /** Whether it sees the events of all users. */
      all_users: boolean;
      /** False once nothing is sent to it any more. */
      enabled: boolean;
      /** Unix seconds, UTC. */
      created_at: number;
    };
    NewWebhook: {
      id: string;
      /** What signs the requests, shown this once: `whsec_…`. */
      secret: string;
      /** As the URL Standard (WHATWG) writes it. */
      url: string;
      /** Types of events; null: all. */
      events: ("attachment.created" | "attachment.deleted" | "attachment.updated" | "contact.created" | "contact.deleted" | "contact.updated" | "webhook.disabled")[] | null;
      /** Whether it sees the events of all users. */
      all_users: boolean;
      /** False once nothing is sent to it any more. */
      enabled: boolean;
      /** Unix seconds, UTC. */
      created_at: number;
    };
    /** Items, newest first. */
    WebhookPage: {
      /** Whether there are more items beyond this page. */
      has_more: boolean;
      data: (components["schemas"]["Webhook"])[];
    };
    /** What a webhook is sent when that is asked for. */
    TestEvent: {
      id: string;
      type: "webhook.test";
      /** Unix seconds, UTC. */
      timestamp: number;
      user_id: string;
      conversation_id: null;
      payload: {
        id: string;
      };
    };
    Delivery: {
      id: string;
      /** The header `webhook-id`, the same at every attempt. */
      event_id: string;
      type: string;
      state: "pending" | "delivered" | "failed";
      attempts: number;
      /** What the receiver answered; null: nothing. */
      last_status: number | null;
      /** Why there was no answer. */
      last_error: string | null;
      /** Unix seconds, UTC; null: it is done, or waits for an earlier one of its conversation. */
      next_attempt_at: number | null;
      /** Unix seconds, UTC. */
      created_at: number;
      /** Unix seconds, UTC. */
      updated_at: number;
    };
    /** Items, newest first. */
    DeliveryPage: {
      /** Whether there are more items beyond this page. */
      has_more: boolean;
      data: (components["schemas"]["Delivery"])[];
    };
    Me: {
      id: string;
      username: string;
      phone_number: string | null;
      display_name: string | null;
      avatar_url: string | null;
      /** Notes to self, where uploads go that name no other conversation. */
      conversation_id: string;
      /** Unix seconds, UTC. */
      created_at: number;
      storage: {
        /** Bytes. */
        used: number;
        /** Bytes; null: none. */
        quota: number | null;
      };
      limits: {
        /** Bytes; null: none. */
        max_file_size: number | null;
        /** Bytes. */
        max_body_size: number;
        /** Requests a second, twice as many at once; null: not limited. */
        rate_limit: number | null;
      };
    };
    User: {
      id: string;
      username: string;
      phone_number: string | null;
      display_name: string | null;
      avatar_url: string | null;
      /** Unix seconds, UTC. */
      created_at: number;
    };
    /** Items, newest first. */
    UserPage: {
      /** Whether there are more items beyond this page. */
      has_more: boolean;
      data: (components["schemas"]["User"])[];
    };
    Token: {
      id: string;
      user_id: string;
      name: string | null;
      scopes: (string)[];
      /** Unix seconds, UTC; null: never. */
      expires_at: number | null;
      /** Unix seconds, UTC. */
      created_at: number;
    };
    NewToken: {
      id: string;
      /** The secret, shown this once: what requests carry. */
      token: string;
      user_id: string;
      name: string | null;
      scopes: (string)[];
      /** Unix seconds, UTC; null: never. */
      expires_at: number | null;
      /** Unix seconds, UTC. */
      created_at: number;
    };
    /** Items, newest first. */
    TokenPage: {
      /** Whether there are more items beyond this page. */
      has_more: boolean;
      data: (components["schemas"]["Token"])[];
    };
    AuditEntry: {
      id: string;
      /** Unix seconds, UTC. */
      created_at: number;
      /** What was done, such as `token.revoked`. */
      action: string;
      /** The user who did it; null: the command line, or a link. */
      actor_id: string | null;
      /** The token that it was done with; null also: a signed token. */
      token_id: string | null;
      /** What it was done to. It may be gone. */
      object_id: string;
      /** What else is known of it, by the action. */
      details: Record<string, unknown> | null;
    };
    /** Items, newest first. */
    AuditEntryPage: {
      /** Whether there are more items beyond this page. */
      has_more: boolean;
      data: (components["schemas"]["AuditEntry"])[];
    };
    /** Problem details (RFC 9457). */
    Problem: {
      /** The address of a page that explains the code. */
      type: string;
      title: string;
      status: number;
      /** What to do. */
      detail: string;
      /** From a closed list; what programs should look at. */
      code: "malformed_request" | "malformed_body" | "missing_parameter" | "invalid_parameter" | "unknown_parameter" | "repeated_parameter" | "digest_mismatch" | "missing_token" | "invalid_token" | "insufficient_scope" | "invalid_signature" | "not_uploader" | "route_not_found" | "contact_not_found" | "attachment_not_found" | "conversation_not_found" | "message_not_found" | "user_not_found" | "token_not_found" | "webhook_not_found" | "delivery_not_found" | "method_not_allowed" | "request_timeout" | "contact_exists" | "username_taken" | "count_limit_reached" | "idempotency_in_progress" | "idempotency_key_reused" | "webhook_disabled" | "too_many_streams" | "events_erased" | "precondition_failed" | "file_too_large" | "body_too_large" | "rate_limited" | "headers_too_large" | "unsupported_media_type" | "range_not_satisfiable" | "internal_error" | "unavailable" | "outcome_unknown" | "quota_exceeded" | "disk_full";
      /** The field at fault, where there is one. */
      param?: string;
      /** Of the contact or the user that has the username (`contact_exists`, `username_taken`). */
      existing_id?: string;
      request_id: string;
    };
  };
}

/** Requests, by the name of the operation. */
export interface operations {
  listContacts: {
    query: {
      /** A whole number from 1 to 100. */
      limit?: number | undefined;
      /** The id of an item of this list (con_…). */
      starting_after?: string | undefined;
      /** The id of an item of this list (con_…). */
      ending_before?: string | undefined;
      /** A string of 1 to 128 characters without control characters and without a space at either end. */
      username?: string | undefined;
      /** A string of 3 to 64 characters with at least 3 digits, without control characters. */
      phone_number?: string | undefined;
      /** A string of 0 to 128 characters without control characters. */
      q?: string | undefined;
      /** "true" or "false". */
      active?: boolean | undefined;
    };
  };
  createContact: {
    body: {
      /** A string of 1 to 128 characters without control characters and without a space at either end. */
      username: string;
      /** A string of 3 to 64 characters with at least 3 digits, without control characters. */
      phone_number: string;
      /** An http or https URL of at most 2048 characters. */
      avatar_url?: string | null | undefined;
      /** A string of 0 to 128 characters without control characters. */
      display_name?: string | null | undefined;
    };
  };
  updateContact: {
    body: {
      /** A string of 0 to 128 characters without control characters. */
      display_name?: string | null | undefined;
    };
  };
  listAttachments: {
    query: {
      /** A whole number from 1 to 100. */
      limit?: number | undefined;
      /** The id of an item of this list (att_…). */
      starting_after?: string | undefined;
      /** The id of an item of this list (att_…). */
      ending_before?: string | undefined;
      /** An id (cnv_…). */
      conversation_id?: string | undefined;
    };
  };
  createAttachment: {
    query: {
      /** An id (cnv_…). */
      conversation_id?: string | undefined;
      /** An id (msg_…). */
      message_id?: string | undefined;
    };
  };
  updateAttachment: {
    body: {
      /** 1 to 255 bytes of UTF-8 without "/", "\" or control characters, and not "." or "..". */
      filename?: string | undefined;
    };
  };
  listEvents: {
    query: {
      /** A whole number from 1 to 100. */
      limit?: number | undefined;
      /** The id of an item of this list (evt_…). */
      starting_after?: string | undefined;
      /** The id of an item of this list (evt_…). */
      ending_before?: string | undefined;
      /** Types of events, separated by commas: attachment.created, attachment.deleted, attachment.updated, contact.created, contact.deleted, contact.updated, webhook.disabled. */
      types?: string | undefined;
    };
  };
  listWebhooks: {
    query: {
      /** A whole number from 1 to 100. */
      limit?: number | undefined;
      /** The id of an item of this list (whk_…). */
      starting_after?: string | undefined;
      /** The id of an item of this list (whk_…). */
      ending_before?: string | undefined;
    };
  };
  createWebhook: {
    body: {
      /** An https URL of at most 2048 characters with a public address, without credentials and without a fragment. */
      url: string;
      /** One or more of attachment.created, attachment.deleted, attachment.updated, contact.created, contact.deleted, contact.updated, webhook.disabled: an array of strings, or one string with spaces between them; null in JSON for all. */
      events?: ("attachment.created" | "attachment.deleted" | "attachment.updated" | "contact.created" | "contact.deleted" | "contact.updated" | "webhook.disabled")[] | string | null | undefined;
      /** True or false. */
      all_users?: boolean | undefined;
    };
  };
  updateWebhook: {
    body: {
      /** An https URL of at most 2048 characters with a public address, without credentials and without a fragment. */
      url?: string | undefined;
      /** One or more of attachment.created, attachment.deleted, attachment.updated, contact.created, contact.deleted, contact.updated, webhook.disabled: an array of strings, or one string with spaces between them; null in JSON for all. */
      events?: ("attachment.created" | "attachment.deleted" | "attachment.updated" | "contact.created" | "contact.deleted" | "contact.updated" | "webhook.disabled")[] | string | null | undefined;
      /** True or false. */
      enabled?: boolean | undefined;
    };
  };
  listDeliveries: {
    query: {
      /** A whole number from 1 to 100. */
      limit?: number | undefined;
      /** The id of an item of this list (dlv_…). */
      starting_after?: string | undefined;
      /** The id of an item of this list (dlv_…). */
      ending_before?: string | undefined;
    };
  };
  listUsers: {
    query: {
      /** A whole number from 1 to 100. */
      limit?: number | undefined;
      /** The id of an item of this list (usr_…). */
      starting_after?: string | undefined;
      /** The id of an item of this list (usr_…). */
      ending_before?: string | undefined;
      /** A string of 1 to 128 characters without control characters and without a space at either end. */
      username?: string | undefined;
    };
  };
  createUser: {
    body: {
      /** A string of 1 to 128 characters without control characters and without a space at either end. */
      username: string;
      /** A string of 3 to 64 characters with at least 3 digits, without control characters. */
      phone_number?: string | null | undefined;
      /** A string of 0 to 128 characters without control characters. */
      display_name?: string | null | undefined;
      /** An http or https URL of at most 2048 characters. */
      avatar_url?: string | null | undefined;
    };
  };
  listTokens: {
    query: {
      /** A whole number from 1 to 100. */
      limit?: number | undefined;
      /** The id of an item of this list (tok_…). */
      starting_after?: string | undefined;
      /** The id of an item of this list (tok_…). */
      ending_before?: string | undefined;
      /** An id (usr_…). */
      user_id?: string | undefined;
    };
  };
  createToken: {
    body: {
      /** An id (usr_…). */
      user_id: string;
      /** One or more of contacts:read, contacts:write, attachments:read, attachments:write, events:read, admin: an array of strings, or one string with spaces between them. */
      scopes?: ("contacts:read" | "contacts:write" | "attachments:read" | "attachments:write" | "events:read" | "admin")[] | string | undefined;
      /** A time in the future in whole Unix seconds. */
      expires_at?: number | null | undefined;
      /** A string of 0 to 128 characters without control characters. */
      name?: string | null | undefined;
    };
  };
  listAudit: {
    query: {
      /** A whole number from 1 to 100. */
      limit?: number | undefined;
      /** The id of an item of this list (aud_…). */
      starting_after?: string | undefined;
      /** The id of an item of this list (aud_…). */
      ending_before?: string | undefined;
    };
  };
  downloadFile: {
    query: {
      expires?: number | undefined;
      signature?: string | undefined;
      /** Save instead of show. */
      download?: "1" | undefined;
    };
  };
}
