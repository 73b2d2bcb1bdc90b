// Made from src/http/openapi/openapi.json by `npm run client-types`. A test holds it to that.

/** Resources, as they are answered. */
export interface components {
  schemas: {
    Contact: {
      id: string;
      username: string;
      phone_number: string;
      avatar_url: string | null;
      /** Null if none is set; show `profile_name` or the username instead. */
      display_name: string | null;
      /** The display name that the user with this username has chosen; null if unknown, as `last_active_at` is. */
      profile_name: string | null;
      conversation_id: string;
      /** Unix seconds, UTC. Null if unknown, as for a new contact. */
      last_active_at: number | null;
      /** Unix seconds, UTC. */
      created_at: number;
    };
    /** Items, newest first. */
    ContactPage: {
      /** Whether more items follow. */
      has_more: boolean;
      data: (components["schemas"]["Contact"])[];
    };
    Block: {
      /** As it was written when it was blocked. */
      username: string;
      /** Unix seconds, UTC. */
      created_at: number;
    };
    /** Items, newest first. */
    BlockPage: {
      /** Whether more items follow. */
      has_more: boolean;
      data: (components["schemas"]["Block"])[];
    };
    Conversation: {
      id: string;
      kind: "contact" | "group" | "self";
      contact_id: string | null;
      group_id: string | null;
      /** The name of the contact or group; null for notes to self. */
      name: string | null;
      avatar_url: string | null;
      /** The last message that you see; null if there is none. */
      last_message: components["schemas"]["Message"] | null;
      /** 0 to 100; 100 means 100 or more. */
      unread_count: number;
      /** How many of the messages that `unread_count` counts mention you. */
      unread_mention_count: number;
      /** The message up to which you have read. */
      last_read_id: string | null;
      /** The message up to which the contact has read, as far as you may know. */
      contact_read_id: string | null;
      is_pinned: boolean;
      is_archived: boolean;
      /** Unix seconds, UTC; null if it is not muted. */
      muted_until: number | null;
      /** The place in your inbox, for cursors; null until a message reaches you. */
      position: string | null;
      /** When you joined it. */
      created_at: number;
      /** Whether the contact has ever joined it; null if it is not direct. */
      contact_joined: boolean | null;
    };
    /** Items, newest first. */
    ConversationPage: {
      /** Whether more items follow. */
      has_more: boolean;
      data: (components["schemas"]["Conversation"])[];
    };
    Message: {
      id: string;
      conversation_id: string;
      /** `text`, or what the sender did: a message of the system. */
      type: "text" | "joined" | "left" | "removed" | "renamed" | "role";
      /** Null after the user was erased. */
      sender: {
        id: string;
        username: string;
        display_name: string | null;
        avatar_url: string | null;
        kind: "person" | "bot";
      } | null;
      text: string | null;
      /** A JSON object for your app. In a message of the system `user` (whom it was done to), `role` or `name`. */
      data: Record<string, unknown> | null;
      attachments: ({
        id: string;
        message_id: string;
        filename: string;
        /** Signed for you: works without a token for one to two hours, as long as you see the file. */
        file_url: string;
        /** MIME type. */
        file_type: string;
        /** Bytes. */
        file_size: number;
        /** Unix seconds, UTC. */
        created_at: number;
        /** Only with `include=conversation_id`. */
        conversation_id?: string;
        /** Only with `include=sender`; null after the user was erased. */
        sender?: {
          id: string;
          username: string;
          display_name: string | null;
          avatar_url: string | null;
          kind: "person" | "bot";
        } | null;
        /** Only with `include=unscanned`: true if the server scans for viruses, but accepted this file without a scan. */
        unscanned?: boolean;
        /** Only with `include=image`; null if the file is no JPEG, PNG, GIF or WebP. */
        image?: {
          /** Pixels, as the picture is shown. */
          width: number;
          /** Pixels, as the picture is shown. */
          height: number;
          /** A ThumbHash in base64: what to show until the picture is there. Null until the server has made it. */
          placeholder: string | null;
          /** Smaller pictures as WebP, the smallest first. Empty if the server makes none. */
          previews: ({
            /** Pixels, as the picture is shown. */
            width: number;
            /** Signed, like `file_url`. */
            url: string;
          })[];
        } | null;
      })[];
      /** Members that the sender mentioned. */
      mentions: (string)[];
      /** The message that this one replies to. It may be deleted. */
      reply_to_id: string | null;
      /** The id that the sender's client gave it, if any. Other senders may use the same. */
      client_id: string | null;
      /** Those that you see, in the order in which their emoji came. */
      reactions: ({
        emoji: string;
        count: number;
        user_ids: (string)[];
      })[];
      /** Unix seconds, UTC. */
      created_at: number;
      /** When text, data or mentions were last edited. */
      edited_at: number | null;
    };
    /** Items, newest first. */
    MessagePage: {
      /** Whether more items follow. */
      has_more: boolean;
      data: (components["schemas"]["Message"])[];
    };
    ShownUser: {
      id: string;
      username: string;
      display_name: string | null;
      avatar_url: string | null;
      kind: "person" | "bot";
    };
    /** Items, newest first. */
    ShownUserPage: {
      /** Whether more items follow. */
      has_more: boolean;
      data: (components["schemas"]["ShownUser"])[];
    };
    Group: {
      id: string;
      name: string;
      description: string | null;
      avatar_url: string | null;
      /** `cnv_…`; null until you have joined. */
      conversation_id: string | null;
      /** What a new member sees: messages from then on, or also those of before. */
      history: "joined" | "all";
      /** Yours. */
      role: "admin" | "member" | "invited";
      /** Who has invited or added you; null if you have created the group, or that user was erased. Also null if you joined it in version 0.1.0. */
      invited_by: {
        id: string;
        username: string;
        display_name: string | null;
        avatar_url: string | null;
        kind: "person" | "bot";
      } | null;
      /** Without those who are invited. */
      member_count: number;
      /** Unix seconds, UTC. */
      created_at: number;
    };
    /** Items, newest first. */
    GroupPage: {
      /** Whether more items follow. */
      has_more: boolean;
      data: (components["schemas"]["Group"])[];
    };
    Member: {
      id: string;
      group_id: string;
      /** `usr_…`; null of somebody who is invited. */
      user_id: string | null;
      /** Of somebody who is invited as it was typed; null after the user was erased. */
      username: string | null;
      display_name: string | null;
      avatar_url: string | null;
      /** Null of somebody who is invited, and after the user was erased. */
      kind: "person" | "bot" | null;
      role: "admin" | "member" | "invited";
      /** When the member joined, or was invited. */
      created_at: number;
      /** The message up to which the member has read, as far as you may know. Events do not have it. */
      read_message_id?: string | null;
    };
    /** Items, newest first. */
    MemberPage: {
      /** Whether more items follow. */
      has_more: boolean;
      data: (components["schemas"]["Member"])[];
    };
    Attachment: {
      id: string;
      message_id: string;
      filename: string;
      /** Signed for you: works without a token for one to two hours, as long as you see the file. */
      file_url: string;
      /** MIME type. */
      file_type: string;
      /** Bytes. */
      file_size: number;
      /** Unix seconds, UTC. */
      created_at: number;
      /** Only with `include=conversation_id`. */
      conversation_id?: string;
      /** Only with `include=sender`; null after the user was erased. */
      sender?: {
        id: string;
        username: string;
        display_name: string | null;
        avatar_url: string | null;
        kind: "person" | "bot";
      } | null;
      /** Only with `include=unscanned`: true if the server scans for viruses, but accepted this file without a scan. */
      unscanned?: boolean;
      /** Only with `include=image`; null if the file is no JPEG, PNG, GIF or WebP. */
      image?: {
        /** Pixels, as the picture is shown. */
        width: number;
        /** Pixels, as the picture is shown. */
        height: number;
        /** A ThumbHash in base64: what to show until the picture is there. Null until the server has made it. */
        placeholder: string | null;
        /** Smaller pictures as WebP, the smallest first. Empty if the server makes none. */
        previews: ({
          /** Pixels, as the picture is shown. */
          width: number;
          /** Signed, like `file_url`. */
          url: string;
        })[];
      } | null;
    };
    /** Items, newest first. */
    AttachmentPage: {
      /** Whether more items follow. */
      has_more: boolean;
      data: (components["schemas"]["Attachment"])[];
    };
    Upload: {
      id: string;
      /** Null once the upload is complete: the attachment has it. */
      filename: string | null;
      /** The bytes that the server has: continue there. */
      offset: number;
      /** The bytes of the whole file; null if the server does not know it yet. */
      length: number | null;
      /** Null until the upload is complete. */
      attachment_id: string | null;
      /** Unix seconds, UTC. */
      created_at: number;
      /** Unix seconds, UTC. */
      expires_at: number;
    };
    /** Items, newest first. */
    UploadPage: {
      /** Whether more items follow. */
      has_more: boolean;
      data: (components["schemas"]["Upload"])[];
    };
    Archive: {
      /** Signed: works without a token for one to two hours. */
      url: string;
      filename: string;
      file_count: number;
      /** Bytes of the archive. */
      size: number;
      /** Unix seconds, UTC. */
      expires_at: number;
    };
    /** A change of something that the recipient can see. */
    Event: {
      id: string;
      /** One more than in your previous event. Without `types` and with the scopes of all types, a larger step means that events are missing. */
      sequence: number;
      type: "attachment.created" | "attachment.deleted" | "attachment.updated" | "contact.created" | "contact.deleted" | "contact.updated" | "conversation.updated" | "group.created" | "group.deleted" | "group.updated" | "member.created" | "member.deleted" | "member.updated" | "message.created" | "message.deleted" | "message.mentioned" | "message.updated" | "reaction.created" | "reaction.deleted" | "user.updated" | "webhook.disabled";
      /** Unix seconds, UTC. */
      timestamp: number;
      /** The recipient. */
      user_id: string;
      /** `cnv_…`; null if the event belongs to no conversation. */
      conversation_id: string | null;
      /** Only `message.created` and `message.mentioned` have it: whether to alert the recipient. */
      notify?: boolean;
      /** The resource as the recipient sees it now; if it is deleted, or the recipient can't see it any more, only the ids. */
      payload: components["schemas"]["Contact"] | components["schemas"]["Conversation"] | components["schemas"]["Message"] | components["schemas"]["Reaction"] | components["schemas"]["Group"] | components["schemas"]["Member"] | components["schemas"]["Attachment"] | components["schemas"]["ShownUser"] | components["schemas"]["Webhook"] | components["schemas"]["Reference"] | components["schemas"]["MemberReference"] | components["schemas"]["UserReference"];
    };
    /** Items, newest first. */
    EventPage: {
      /** Whether more items follow. */
      has_more: boolean;
      data: (components["schemas"]["Event"])[];
    };
    Snapshot: {
      me: components["schemas"]["Me"];
      /** Your inbox, most recent activity first. */
      conversations: ({
        id: string;
        kind: "contact" | "group" | "self";
        contact_id: string | null;
        group_id: string | null;
        /** The name of the contact or group; null for notes to self. */
        name: string | null;
        avatar_url: string | null;
        /** The last message that you see; null if there is none. */
        last_message: components["schemas"]["Message"] | null;
        /** 0 to 100; 100 means 100 or more. */
        unread_count: number;
        /** How many of the messages that `unread_count` counts mention you. */
        unread_mention_count: number;
        /** The message up to which you have read. */
        last_read_id: string | null;
        /** The message up to which the contact has read, as far as you may know. */
        contact_read_id: string | null;
        is_pinned: boolean;
        is_archived: boolean;
        /** Unix seconds, UTC; null if it is not muted. */
        muted_until: number | null;
        /** The place in your inbox, for cursors; null until a message reaches you. */
        position: string | null;
        /** When you joined it. */
        created_at: number;
        /** Whether the contact has ever joined it; null if it is not direct. */
        contact_joined: boolean | null;
        /** The newest that you see, newest first. */
        messages: (components["schemas"]["Message"])[];
        /** The contact of a direct conversation; null for others, and without the scope `contacts:read`. */
        contact: components["schemas"]["Contact"] | null;
        /** All members of a group, for admins also those who are invited; null for others, and without the scope `groups:read`. */
        members: (components["schemas"]["Member"])[] | null;
      })[];
      /** Whether your inbox has more conversations after these. */
      has_more: boolean;
      /** The cursor of the events that change this state; null without the scope `events:read`. */
      last_event_id: string | null;
    };
    Webhook: {
      id: string;
      /** Its owner. */
      user_id: string;
      /** As the URL Standard (WHATWG) writes it. */
      url: string;
      /** Types of events; null for all. */
      events: ("attachment.created" | "attachment.deleted" | "attachment.updated" | "contact.created" | "contact.deleted" | "contact.updated" | "conversation.updated" | "group.created" | "group.deleted" | "group.updated" | "member.created" | "member.deleted" | "member.updated" | "message.created" | "message.deleted" | "message.mentioned" | "message.updated" | "reaction.created" | "reaction.deleted" | "user.updated" | "webhook.disabled")[] | null;
      /** Whether it receives the events of all users. */
      all_users: boolean;
      /** False once Parley has stopped sending to it. */
      enabled: boolean;
      /** Unix seconds, UTC. */
      created_at: number;
    };
    /** Items, newest first. */
    WebhookPage: {
      /** Whether more items follow. */
      has_more: boolean;
      data: (components["schemas"]["Webhook"])[];
    };
    WebhookWithSecret: {
      id: string;
      /** Signs the requests: `whsec_…`. It is shown only once. */
      secret: string;
      /** Its owner. */
      user_id: string;
      /** As the URL Standard (WHATWG) writes it. */
      url: string;
      /** Types of events; null for all. */
      events: ("attachment.created" | "attachment.deleted" | "attachment.updated" | "contact.created" | "contact.deleted" | "contact.updated" | "conversation.updated" | "group.created" | "group.deleted" | "group.updated" | "member.created" | "member.deleted" | "member.updated" | "message.created" | "message.deleted" | "message.mentioned" | "message.updated" | "reaction.created" | "reaction.deleted" | "user.updated" | "webhook.disabled")[] | null;
      /** Whether it receives the events of all users. */
      all_users: boolean;
      /** False once Parley has stopped sending to it. */
      enabled: boolean;
      /** Unix seconds, UTC. */
      created_at: number;
    };
    Delivery: {
      id: string;
      /** The header `webhook-id`, the same for every attempt. */
      event_id: string;
      type: string;
      /** `skipped`: none of the recipients could see any more what the event is about. */
      state: "pending" | "delivered" | "failed" | "skipped";
      attempts: number;
      /** The status of the last answer; null if there was none. */
      last_status: number | null;
      /** Set if no answer came. The text is the same for every reason. */
      last_error: string | null;
      /** The first 1,024 bytes of the body of the last answer, for tokens with the scope `admin`; null for all others, and if there is none. */
      response_body: string | null;
      /** Unix seconds, UTC. Null if it has ended, or waits for an earlier delivery of its conversation. */
      next_attempt_at: number | null;
      /** Unix seconds, UTC. */
      created_at: number;
      /** Unix seconds, UTC. */
      updated_at: number;
    };
    /** Items, newest first. */
    DeliveryPage: {
      /** Whether more items follow. */
      has_more: boolean;
      data: (components["schemas"]["Delivery"])[];
    };
    PushSubscription: {
      id: string;
      /** As the URL Standard (WHATWG) writes it. */
      endpoint: string;
      /** When it ends with the token that made it. Unix seconds, UTC; null if that never expires, or was a JWT. */
      expires_at: number | null;
      /** Unix seconds, UTC. */
      created_at: number;
    };
    /** Items, newest first. */
    PushSubscriptionPage: {
      /** Whether more items follow. */
      has_more: boolean;
      data: (components["schemas"]["PushSubscription"])[];
    };
    Me: {
      id: string;
      username: string;
      phone_number: string | null;
      display_name: string | null;
      avatar_url: string | null;
      kind: "person" | "bot";
      /** A JSON object for your app, which only you and admins see. */
      data: Record<string, unknown> | null;
      /** Notes to self: the conversation of uploads that name no other conversation. */
      conversation_id: string;
      /** Unix seconds, UTC. */
      created_at: number;
      /** The token of the request; null for a JWT. */
      token_id: string | null;
      /** What that token may do. */
      scopes: (string)[];
      /** Without muted ones; 100 means 100 or more. 0 for a bot. */
      unread_conversations: number;
      /** The `applicationServerKey` of push subscriptions: a point on P-256 in base64url. */
      push_public_key: string;
      storage: {
        /** Bytes. */
        used: number;
        /** Bytes; null if there is no quota. */
        quota: number | null;
      };
      limits: {
        /** Bytes; null if there is no limit. */
        max_file_size: number | null;
        /** Files that the user can upload per day (UTC); null if there is no limit. */
        max_files_per_day: number | null;
        /** Media types such as `image/png` or `image/*`; null if all are accepted. */
        allowed_file_types: (string)[] | null;
        /** Media types that are not accepted, also if they are allowed. */
        refused_file_types: (string)[];
        /** Bytes. */
        max_body_size: number;
        /** Bytes of a request that sends or edits a message, without files. */
        max_message_body_size: number;
        /** Requests per second, with bursts of twice as many; null if there is no limit. */
        rate_limit: number | null;
        /** Messages to others per minute; null if there is no limit. */
        message_limit: number | null;
      };
    };
    User: {
      id: string;
      username: string;
      phone_number: string | null;
      display_name: string | null;
      avatar_url: string | null;
      kind: "person" | "bot";
      /** Whether users who add this one are added back. */
      accepts_everyone: boolean;
      /** Messages to others per minute; 0: no limit; null: that of the server. */
      message_limit: number | null;
      /** A JSON object for your app, which only the user and admins see. */
      data: Record<string, unknown> | null;
      /** Unix seconds, UTC. */
      created_at: number;
      /** When an administrator paused the user; null if the user is not paused. */
      paused_at: number | null;
      storage: {
        /** Bytes. */
        used: number;
        /** Bytes; null if there is no quota. */
        quota: number | null;
      };
      /** The user's last request; null if there was none. */
      last_active_at: number | null;
    };
    /** Items, newest first. */
    UserPage: {
      /** Whether more items follow. */
      has_more: boolean;
      data: (components["schemas"]["User"])[];
    };
    UserWithUnread: {
      id: string;
      username: string;
      phone_number: string | null;
      display_name: string | null;
      avatar_url: string | null;
      kind: "person" | "bot";
      /** Whether users who add this one are added back. */
      accepts_everyone: boolean;
      /** Messages to others per minute; 0: no limit; null: that of the server. */
      message_limit: number | null;
      /** A JSON object for your app, which only the user and admins see. */
      data: Record<string, unknown> | null;
      /** Unix seconds, UTC. */
      created_at: number;
      /** When an administrator paused the user; null if the user is not paused. */
      paused_at: number | null;
      storage: {
        /** Bytes. */
        used: number;
        /** Bytes; null if there is no quota. */
        quota: number | null;
      };
      /** The user's last request; null if there was none. */
      last_active_at: number | null;
      /** Without muted ones; 100 means 100 or more. 0 for a bot. */
      unread_conversations: number;
      /** Whose JWTs sign in as the user. */
      identities: ({
        issuer: string;
        subject: string;
      })[];
    };
    UserFile: {
      id: string;
      filename: string;
      /** MIME type. */
      file_type: string;
      /** Bytes. */
      file_size: number;
      /** Who uploaded it, and in whose storage it counts. */
      uploader_id: string;
      /** Unix seconds, UTC. */
      created_at: number;
    };
    /** Items, newest first. */
    UserFilePage: {
      /** Whether more items follow. */
      has_more: boolean;
      data: (components["schemas"]["UserFile"])[];
    };
    UserGroup: {
      id: string;
      name: string;
      /** That of the user. */
      role: "admin" | "member";
      /** Without those who are invited. */
      member_count: number;
      /** Unix seconds, UTC. */
      created_at: number;
    };
    /** Items, newest first. */
    UserGroupPage: {
      /** Whether more items follow. */
      has_more: boolean;
      data: (components["schemas"]["UserGroup"])[];
    };
    Token: {
      id: string;
      user_id: string;
      name: string | null;
      scopes: (string)[];
      /** Unix seconds, UTC; null if it never expires. */
      expires_at: number | null;
      /** Unix seconds, UTC. */
      created_at: number;
      /** The last request with it, up to a minute late; null if none is recorded. */
      last_used_at: number | null;
    };
    /** Items, newest first. */
    TokenPage: {
      /** Whether more items follow. */
      has_more: boolean;
      data: (components["schemas"]["Token"])[];
    };
    IssuedToken: {
      id: string;
      /** The secret that requests send. It is shown only once. */
      token: string;
      user_id: string;
      name: string | null;
      scopes: (string)[];
      /** Unix seconds, UTC; null if it never expires. */
      expires_at: number | null;
      /** Unix seconds, UTC. */
      created_at: number;
      /** The last request with it, up to a minute late; null if none is recorded. */
      last_used_at: number | null;
    };
    AuditEntry: {
      id: string;
      /** Unix seconds, UTC. */
      created_at: number;
      /** What was done, such as `token.revoked`. */
      action: string;
      /** The user who did it; null for the command line or a signed link. */
      actor_id: string | null;
      /** The user whose token acted as `actor_id`; null if it was the token of `actor_id`. */
      acted_by_id: string | null;
      /** The token that was used; null also for a JWT. */
      token_id: string | null;
      /** The id of the object that was changed. The object may no longer exist. */
      object_id: string;
      /** The name of the file or group that was changed, as it is now; null once it is erased, and for other objects. */
      object_name: string | null;
      /** Further facts, depending on the action. */
      details: Record<string, unknown> | null;
    };
    /** Items, newest first. */
    AuditEntryPage: {
      /** Whether more items follow. */
      has_more: boolean;
      data: (components["schemas"]["AuditEntry"])[];
    };
    /** A change, as a webhook of all users gets it. */
    SharedEvent: {
      id: string;
      type: "attachment.created" | "attachment.deleted" | "attachment.updated" | "contact.created" | "contact.deleted" | "contact.updated" | "conversation.updated" | "group.created" | "group.deleted" | "group.updated" | "member.created" | "member.deleted" | "member.updated" | "message.created" | "message.deleted" | "message.mentioned" | "message.updated" | "reaction.created" | "reaction.deleted" | "user.updated" | "webhook.disabled" | "webhook.test";
      /** Unix seconds, UTC. */
      timestamp: number;
      /** `cnv_…`; null if the event belongs to no conversation. */
      conversation_id: string | null;
      /** The users who see the change, and whether to alert each. */
      recipients: ({
        user_id: string;
        notify: boolean;
      })[];
      /** As in `Event`, without what depends on the recipient: a message has no `reactions`, a group no `role` and no `invited_by`. */
      payload: Record<string, unknown>;
    };
    /** The event that a test of a webhook sends. */
    TestEvent: {
      id: string;
      type: "webhook.test";
      /** Unix seconds, UTC. */
      timestamp: number;
      /** The recipient. */
      user_id: string;
      conversation_id: null;
      payload: {
        id: string;
      };
    };
    /** Somebody is typing. Only streams have it, and it has no id to continue after. */
    TypingEvent: {
      type: "typing";
      conversation_id: string;
      payload: {
        conversation_id: string;
        /** Who is typing. */
        user_id: string;
        /** Until when to show it. */
        expires_at: number;
      };
    };
    /** What an event is about, if the recipient can't see it any more. */
    Reference: {
      id: string;
      conversation_id: string | null;
    };
    /** The member of a group that an event is about, if the recipient can't see it any more. */
    MemberReference: {
      id: string;
      group_id: string;
      /** Of a member who has left. */
      user_id?: string;
    };
    /** The user that an event is about, if the recipient can't see them any more. */
    UserReference: {
      id: string;
    };
    /** A reaction that was added or removed; only the ids of message and conversation if the recipient can't see it. */
    Reaction: {
      message_id: string;
      conversation_id: string;
      emoji?: string;
      /** Who reacted. */
      user_id?: string;
    };
    /** Problem details (RFC 9457). */
    Problem: {
      /** The address of a page that explains the code. */
      type: string;
      title: string;
      status: number;
      /** What is wrong and what to do. */
      detail: string;
      /** From a closed list; for programs to check. */
      code: "malformed_request" | "malformed_body" | "missing_parameter" | "invalid_parameter" | "unknown_parameter" | "repeated_parameter" | "digest_mismatch" | "missing_token" | "invalid_token" | "insufficient_scope" | "user_paused" | "invalid_signature" | "origin_not_allowed" | "not_uploader" | "not_sender" | "not_owner" | "not_admin" | "route_not_found" | "contact_not_found" | "attachment_not_found" | "avatar_not_found" | "conversation_not_found" | "message_not_found" | "group_not_found" | "upload_not_found" | "member_not_found" | "user_not_found" | "token_not_found" | "webhook_not_found" | "push_subscription_not_found" | "delivery_not_found" | "method_not_allowed" | "request_timeout" | "contact_exists" | "username_taken" | "identity_taken" | "upload_offset_mismatch" | "upload_completed" | "upload_length_mismatch" | "checksum_mismatch" | "unsupported_upload_protocol" | "count_limit_reached" | "idempotency_in_progress" | "idempotency_key_reused" | "client_id_conflict" | "webhook_disabled" | "too_many_streams" | "events_erased" | "precondition_failed" | "file_too_large" | "preview_not_found" | "file_type_refused" | "metadata_not_removable" | "body_too_large" | "file_infected" | "rate_limited" | "daily_limit_reached" | "headers_too_large" | "unsupported_media_type" | "range_not_satisfiable" | "internal_error" | "unavailable" | "outcome_unknown" | "quota_exceeded" | "disk_full";
      /** The field at fault, if there is one. */
      param?: string;
      /** The bytes that the server has (`upload_offset_mismatch`). */
      "expected-offset"?: number;
      /** The offset of the request (`upload_offset_mismatch`). */
      "provided-offset"?: number;
      /** The contact or user that has the username or the identity (`contact_exists`, `username_taken`, `identity_taken`). */
      existing_id?: string;
      /** The place, from 0, of the name that is nobody's (`user_not_found`). */
      index?: number;
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
      /** Returns items older than this one (con_…). */
      starting_after?: string | undefined;
      /** Returns items newer than this one (con_…). */
      ending_before?: string | undefined;
      /** A string of 1 to 128 characters without control characters and without a space at either end. */
      username?: string | undefined;
      /** A string of 3 to 64 characters with at least 3 digits, without control characters. */
      phone_number?: string | undefined;
      /** The beginnings of words of the username and the display name, in any order, or three or more digits of the phone number. An international number (+ or 00) also finds its national form, and the reverse. */
      q?: string | undefined;
      /** True selects contacts that are not blocked, false blocked ones. */
      active?: boolean | undefined;
    };
  };
  createContact: {
    body: {
      /** A string of 1 to 128 characters without control characters and without a space at either end, at least one of them visible, not "." or "..", without "@" at the start, and not the id of a user (usr_…). */
      username: string;
      /** Required, unless `mutual` is true: then that of the user, or an empty text if the user has none or one of you blocks the other. */
      phone_number?: string | null | undefined;
      /** An http or https URL of at most 2048 characters. */
      avatar_url?: string | null | undefined;
      /** A string of 0 to 128 characters without control characters. */
      display_name?: string | null | undefined;
      /** True also gives the user of that name the caller as a contact. Needs the scopes `act_as` and `contacts:read`. */
      mutual?: boolean | null | undefined;
      /** True blocks the contact at once; otherwise a block of this username is lifted. */
      blocked?: boolean | null | undefined;
    };
  };
  updateContact: {
    body: {
      /** A string of 0 to 128 characters without control characters. */
      display_name?: string | null | undefined;
    };
  };
  listBlocks: {
    query: {
      /** A whole number from 1 to 100. */
      limit?: number | undefined;
      /** Returns usernames after this one. */
      starting_after?: string | undefined;
      /** Returns usernames before this one. */
      ending_before?: string | undefined;
    };
  };
  listConversations: {
    query: {
      /** A whole number from 1 to 100. */
      limit?: number | undefined;
      /** Returns conversations below this position. */
      starting_after?: string | undefined;
      /** Returns conversations above this position. */
      ending_before?: string | undefined;
      /** "contact" or "group" or "self". */
      kind?: "contact" | "group" | "self" | undefined;
      /** True selects conversations with unread messages, false the others. */
      unread?: boolean | undefined;
      /** True selects those conversations, false the others. */
      archived?: boolean | undefined;
      /** True selects those conversations, false the others. */
      pinned?: boolean | undefined;
    };
  };
  updateConversation: {
    body: {
      /** True or false, in JSON without quotes. */
      is_pinned?: boolean | undefined;
      /** True or false, in JSON without quotes. */
      is_archived?: boolean | undefined;
      /** Unix seconds until which new messages do not notify; null ends it. */
      muted_until?: number | null | undefined;
    };
  };
  markConversationRead: {
    body: {
      /** You have read up to and including this message. */
      message_id: string;
      /** True does not let the contact know. The default is false. */
      private?: boolean | undefined;
    };
  };
  listMessages: {
    query: {
      /** The conversation to list or search. Without it, q searches all of your conversations. */
      conversation_id?: string | undefined;
      /** Returns messages whose text has all of these words, in any order. The last word can be the beginning of one. At most 20 words. */
      q?: string | undefined;
      /** A whole number from 1 to 100. */
      limit?: number | undefined;
      /** Returns items older than this one (msg_…). */
      starting_after?: string | undefined;
      /** Returns items newer than this one (msg_…). */
      ending_before?: string | undefined;
      /** Returns this message between half a page of older and half a page of newer ones (msg_…). */
      around?: string | undefined;
      /** Adds these members to each file, as reads of attachments do. */
      include?: string | undefined;
    };
  };
  createMessage: {
    body: {
      /** An id (cnv_…). */
      conversation_id: string;
      /** A string of 0 to 10000 characters, well-formed and without control characters other than line feeds and tabs. */
      text?: string | null | undefined;
      /** A JSON object (JSON text in a form) of at most 4096 bytes and 16 levels, with well-formed text without control characters other than line ends and tabs, no number beyond the range of a double, no name twice and no name __proto__. */
      data?: Record<string, unknown> | null | undefined;
      /** Up to 20 ids of members of the conversation (usr_…): an array in JSON, a repeated field in a form. */
      mentions?: (string)[] | null | undefined;
      /** The message that this one replies to. */
      reply_to_id?: string | null | undefined;
      /** An id that you choose for the message, such as a UUID: sending it again creates no second message. In a form it must come before the files. */
      client_id?: string | null | undefined;
      /** Removes from a picture where, when and with what it was taken. In a form it must come before the file. */
      strip_metadata?: boolean | null | undefined;
    };
  };
  retrieveMessage: {
    query: {
      /** Adds these members to each file, as reads of attachments do. */
      include?: string | undefined;
    };
  };
  updateMessage: {
    body: {
      /** A string of 0 to 10000 characters, well-formed and without control characters other than line feeds and tabs. */
      text?: string | null | undefined;
      /** A JSON object (JSON text in a form) of at most 4096 bytes and 16 levels, with well-formed text without control characters other than line ends and tabs, no number beyond the range of a double, no name twice and no name __proto__. */
      data?: Record<string, unknown> | null | undefined;
      /** Up to 20 ids of members of the conversation (usr_…): an array in JSON, a repeated field in a form. */
      mentions?: (string)[] | null | undefined;
    };
  };
  deleteMessage: {
    query: {
      /** `me` deletes a message of any sender, for the caller alone. */
      for?: "me" | undefined;
    };
  };
  listReaders: {
    query: {
      /** A whole number from 1 to 100. */
      limit?: number | undefined;
      /** Returns items older than this one (usr_…). */
      starting_after?: string | undefined;
      /** Returns items newer than this one (usr_…). */
      ending_before?: string | undefined;
    };
  };
  listGroups: {
    query: {
      /** A whole number from 1 to 100. */
      limit?: number | undefined;
      /** Returns items older than this one (grp_…). */
      starting_after?: string | undefined;
      /** Returns items newer than this one (grp_…). */
      ending_before?: string | undefined;
    };
  };
  createGroup: {
    body: {
      /** A string of 1 to 128 characters without control characters and without a space at either end, at least one of them visible. */
      name: string;
      /** A string of 0 to 1000 characters, well-formed and without control characters other than line feeds and tabs. */
      description?: string | null | undefined;
      /** An http or https URL of at most 2048 characters. */
      avatar_url?: string | null | undefined;
      /** "joined" or "all". */
      history?: "joined" | "all" | null | undefined;
      /** Up to 1000 usernames: an array in JSON, a repeated field in a form. */
      members?: (string)[] | null | undefined;
      /** True makes the users members at once, without an invitation; at most 100. Needs the scope `act_as`. */
      joined?: boolean | null | undefined;
    };
  };
  updateGroup: {
    body: {
      /** A string of 1 to 128 characters without control characters and without a space at either end, at least one of them visible. */
      name?: string | undefined;
      /** A string of 0 to 1000 characters, well-formed and without control characters other than line feeds and tabs. */
      description?: string | null | undefined;
      /** An http or https URL of at most 2048 characters. */
      avatar_url?: string | null | undefined;
    };
  };
  listMembers: {
    query: {
      /** A whole number from 1 to 100. */
      limit?: number | undefined;
      /** Returns items older than this one (mem_…). */
      starting_after?: string | undefined;
      /** Returns items newer than this one (mem_…). */
      ending_before?: string | undefined;
    };
  };
  inviteMember: {
    body: {
      /** Required, unless `members` is given. */
      username?: string | null | undefined;
      /** With `joined`, instead of `username`: up to 100 names, also by repeating it in a form. */
      members?: (string)[] | null | undefined;
      /** True makes the user a member at once, without an invitation. Needs the scope `act_as`. */
      joined?: boolean | null | undefined;
    };
  };
  updateMember: {
    body: {
      /** "admin" or "member". */
      role: "admin" | "member";
    };
  };
  listAttachments: {
    query: {
      /** A whole number from 1 to 100. */
      limit?: number | undefined;
      /** Returns items older than this one (att_…). */
      starting_after?: string | undefined;
      /** Returns items newer than this one (att_…). */
      ending_before?: string | undefined;
      /** An id (cnv_…). */
      conversation_id?: string | undefined;
      /** The beginnings of words of the file name, in any order. */
      q?: string | undefined;
      /** Adds `conversation_id`: where the file is; `sender`: who sent it; `unscanned`: whether it passed without a scan for viruses; `image`: size and previews of a picture. */
      include?: string | undefined;
    };
  };
  createAttachment: {
    query: {
      /** An id (cnv_…). */
      conversation_id?: string | undefined;
      /** An id (msg_…). */
      message_id?: string | undefined;
      /** Removes from a picture where, when and with what it was taken. In a form it must come before the file. */
      strip_metadata?: boolean | undefined;
    };
  };
  retrieveAttachment: {
    query: {
      /** Adds `conversation_id`: where the file is; `sender`: who sent it; `unscanned`: whether it passed without a scan for viruses; `image`: size and previews of a picture. */
      include?: string | undefined;
    };
  };
  updateAttachment: {
    body: {
      /** 1 to 255 bytes of UTF-8 without "/", "\" or control characters, and not "." or "..". */
      filename?: string | undefined;
    };
  };
  listUploads: {
    query: {
      /** A whole number from 1 to 100. */
      limit?: number | undefined;
      /** Returns items older than this one (upl_…). */
      starting_after?: string | undefined;
      /** Returns items newer than this one (upl_…). */
      ending_before?: string | undefined;
    };
  };
  createUpload: {
    query: {
      /** 1 to 255 bytes of UTF-8 without "/", "\" or control characters, and not "." or "..". */
      filename?: string | undefined;
      /** An id (cnv_…). */
      conversation_id?: string | undefined;
      /** An id (msg_…). */
      message_id?: string | undefined;
    };
  };
  downloadFile: {
    query: {
      /** The user whose link it is. */
      user?: string | undefined;
      /** When the link expires, in Unix seconds. */
      expires?: number | undefined;
      /** The signature of the link. */
      signature?: string | undefined;
      /** Makes a browser save the file instead of showing it. */
      download?: "1" | undefined;
      /** Returns a preview of this many pixels, as WebP. Smaller pictures are not enlarged. */
      width?: "320" | "640" | "1280" | undefined;
    };
  };
  createArchive: {
    body: {
      /** 1 to 250 ids of attachments (att_…): an array in JSON, a repeated field in a form. */
      attachment_ids?: (string)[] | null | undefined;
      /** An id (cnv_…). */
      conversation_id?: string | null | undefined;
    };
  };
  downloadArchive: {
    query: {
      /** The user who created the link. */
      user?: string | undefined;
      /** The files of the archive. */
      files?: string | undefined;
      /** When the link expires, in Unix seconds. */
      expires?: number | undefined;
      /** The signature of the link. */
      signature?: string | undefined;
    };
  };
  listEvents: {
    query: {
      /** A whole number from 1 to 100. */
      limit?: number | undefined;
      /** Returns items older than this one (evt_…). */
      starting_after?: string | undefined;
      /** Returns items newer than this one (evt_…). */
      ending_before?: string | undefined;
      /** One or more of attachment.created, attachment.deleted, attachment.updated, contact.created, contact.deleted, contact.updated, conversation.updated, group.created, group.deleted, group.updated, member.created, member.deleted, member.updated, message.created, message.deleted, message.mentioned, message.updated, reaction.created, reaction.deleted, user.updated, webhook.disabled, typing, separated by commas; typing in streams only. */
      types?: string | undefined;
    };
  };
  retrieveSnapshot: {
    query: {
      /** How many conversations to return. A very large snapshot has fewer; `has_more` is then true. */
      conversations?: number | undefined;
      /** How many messages to return of each conversation. Fewer are all that you see of it. */
      messages?: number | undefined;
      /** Adds these members to each file, as reads of attachments do. */
      include?: string | undefined;
    };
  };
  listWebhooks: {
    query: {
      /** A whole number from 1 to 100. */
      limit?: number | undefined;
      /** Returns items older than this one (whk_…). */
      starting_after?: string | undefined;
      /** Returns items newer than this one (whk_…). */
      ending_before?: string | undefined;
      /** Lists the webhooks of all users, which also requires the scope `admin`. */
      all?: boolean | undefined;
      /** Lists those of one user, which also requires the scope `admin`. */
      user_id?: string | undefined;
      /** True lists only those whose last attempt failed, also if they are disabled. */
      failing?: boolean | undefined;
    };
  };
  createWebhook: {
    body: {
      /** An https URL of at most 2048 characters with a public address, without credentials and without a fragment. */
      url: string;
      /** One or more of attachment.created, attachment.deleted, attachment.updated, contact.created, contact.deleted, contact.updated, conversation.updated, group.created, group.deleted, group.updated, member.created, member.deleted, member.updated, message.created, message.deleted, message.mentioned, message.updated, reaction.created, reaction.deleted, user.updated, webhook.disabled: an array in JSON, or a string separated by commas; null in JSON for all. */
      events?: ("attachment.created" | "attachment.deleted" | "attachment.updated" | "contact.created" | "contact.deleted" | "contact.updated" | "conversation.updated" | "group.created" | "group.deleted" | "group.updated" | "member.created" | "member.deleted" | "member.updated" | "message.created" | "message.deleted" | "message.mentioned" | "message.updated" | "reaction.created" | "reaction.deleted" | "user.updated" | "webhook.disabled")[] | string | null | undefined;
      /** True or false, in JSON without quotes. */
      all_users?: boolean | null | undefined;
    };
  };
  updateWebhook: {
    body: {
      /** An https URL of at most 2048 characters with a public address, without credentials and without a fragment. */
      url?: string | undefined;
      /** One or more of attachment.created, attachment.deleted, attachment.updated, contact.created, contact.deleted, contact.updated, conversation.updated, group.created, group.deleted, group.updated, member.created, member.deleted, member.updated, message.created, message.deleted, message.mentioned, message.updated, reaction.created, reaction.deleted, user.updated, webhook.disabled: an array in JSON, or a string separated by commas; null in JSON for all. */
      events?: ("attachment.created" | "attachment.deleted" | "attachment.updated" | "contact.created" | "contact.deleted" | "contact.updated" | "conversation.updated" | "group.created" | "group.deleted" | "group.updated" | "member.created" | "member.deleted" | "member.updated" | "message.created" | "message.deleted" | "message.mentioned" | "message.updated" | "reaction.created" | "reaction.deleted" | "user.updated" | "webhook.disabled")[] | string | null | undefined;
      /** True or false, in JSON without quotes. */
      enabled?: boolean | undefined;
    };
  };
  listDeliveries: {
    query: {
      /** A whole number from 1 to 100. */
      limit?: number | undefined;
      /** Returns items older than this one (dlv_…). */
      starting_after?: string | undefined;
      /** Returns items newer than this one (dlv_…). */
      ending_before?: string | undefined;
    };
  };
  listPushSubscriptions: {
    query: {
      /** A whole number from 1 to 100. */
      limit?: number | undefined;
      /** Returns items older than this one (psh_…). */
      starting_after?: string | undefined;
      /** Returns items newer than this one (psh_…). */
      ending_before?: string | undefined;
    };
  };
  createPushSubscription: {
    body: {
      /** An https URL of at most 2048 characters with a public address, without credentials and without a fragment. */
      endpoint: string;
      /** A public key on the curve P-256: 65 bytes (uncompressed) in base64url without padding. */
      p256dh: string;
      /** 16 bytes in base64url without padding. */
      auth: string;
    };
  };
  updateMe: {
    body: {
      /** A string of 1 to 100 characters without control characters, at least one of them visible. */
      display_name?: string | null | undefined;
      /** An http or https URL of at most 2048 characters. */
      avatar_url?: string | null | undefined;
      /** A string of 3 to 64 characters with at least 3 digits, without control characters. */
      phone_number?: string | null | undefined;
      /** A JSON object (JSON text in a form) of at most 4096 bytes and 16 levels, with well-formed text without control characters other than line ends and tabs, no number beyond the range of a double, no name twice and no name __proto__. */
      data?: Record<string, unknown> | null | undefined;
    };
  };
  listUsers: {
    query: {
      /** A whole number from 1 to 100. */
      limit?: number | undefined;
      /** Returns items older than this one (usr_…). */
      starting_after?: string | undefined;
      /** Returns items newer than this one (usr_…). */
      ending_before?: string | undefined;
      /** A string of 1 to 128 characters without control characters and without a space at either end. */
      username?: string | undefined;
      /** The beginnings of words of the username and display name, in any order. */
      q?: string | undefined;
    };
  };
  createUser: {
    body: {
      /** A string of 1 to 128 characters without control characters and without a space at either end, at least one of them visible, not "." or "..", without "@" at the start, and not the id of a user (usr_…). */
      username: string;
      /** A string of 3 to 64 characters with at least 3 digits, without control characters. */
      phone_number?: string | null | undefined;
      /** A string of 0 to 128 characters without control characters. */
      display_name?: string | null | undefined;
      /** An http or https URL of at most 2048 characters. */
      avatar_url?: string | null | undefined;
      /** The default is person. It never changes. */
      kind?: "person" | "bot" | null | undefined;
      /** True also gives this user as a contact each user who adds this one. */
      accepts_everyone?: boolean | null | undefined;
      /** Messages to others per minute; 0: no limit; null: that of the server. */
      message_limit?: number | null | undefined;
      /** A JSON object (JSON text in a form) of at most 4096 bytes and 16 levels, with well-formed text without control characters other than line ends and tabs, no number beyond the range of a double, no name twice and no name __proto__. */
      data?: Record<string, unknown> | null | undefined;
      /** The issuer of `subject`; that of the accepted JWTs by default. */
      issuer?: string | null | undefined;
      /** The claim `sub` of the user's JWTs. */
      subject?: string | null | undefined;
    };
  };
  updateUser: {
    body: {
      /** A string of 1 to 100 characters without control characters, at least one of them visible. */
      display_name?: string | null | undefined;
      /** An http or https URL of at most 2048 characters. */
      avatar_url?: string | null | undefined;
      /** A string of 3 to 64 characters with at least 3 digits, without control characters. */
      phone_number?: string | null | undefined;
      /** A JSON object (JSON text in a form) of at most 4096 bytes and 16 levels, with well-formed text without control characters other than line ends and tabs, no number beyond the range of a double, no name twice and no name __proto__. */
      data?: Record<string, unknown> | null | undefined;
      /** True also gives this user as a contact each user who adds this one. */
      accepts_everyone?: boolean | undefined;
      /** Messages to others per minute; 0: no limit; null: that of the server. */
      message_limit?: number | null | undefined;
      /** The issuer of `subject`; that of the accepted JWTs by default. */
      issuer?: string | undefined;
      /** Adds this claim `sub` of JWTs; null removes all identities. */
      subject?: string | null | undefined;
      /** True refuses all requests of the user, and as the user, until it is false. */
      paused?: boolean | undefined;
    };
  };
  listUserFiles: {
    query: {
      /** A whole number from 1 to 100. */
      limit?: number | undefined;
      /** Returns items older than this one (att_…). */
      starting_after?: string | undefined;
      /** Returns items newer than this one (att_…). */
      ending_before?: string | undefined;
    };
  };
  listUserGroups: {
    query: {
      /** A whole number from 1 to 100. */
      limit?: number | undefined;
      /** Returns items older than this one (grp_…). */
      starting_after?: string | undefined;
      /** Returns items newer than this one (grp_…). */
      ending_before?: string | undefined;
    };
  };
  downloadAvatar: {
    query: {
      /** Returns a preview of this many pixels, as WebP. Smaller pictures are not enlarged. */
      width?: "320" | "640" | "1280" | undefined;
    };
  };
  listTokens: {
    query: {
      /** A whole number from 1 to 100. */
      limit?: number | undefined;
      /** Returns items older than this one (tok_…). */
      starting_after?: string | undefined;
      /** Returns items newer than this one (tok_…). */
      ending_before?: string | undefined;
      /** An id (usr_…). */
      user_id?: string | undefined;
    };
  };
  createToken: {
    body: {
      /** An id (usr_…). */
      user_id: string;
      /** One or more of contacts:read, contacts:write, attachments:read, attachments:write, messages:read, messages:write, groups:read, groups:write, events:read, act_as, admin: an array in JSON, or a string separated by commas. */
      scopes?: ("contacts:read" | "contacts:write" | "attachments:read" | "attachments:write" | "messages:read" | "messages:write" | "groups:read" | "groups:write" | "events:read" | "act_as" | "admin")[] | string | null | undefined;
      /** A time in the future in whole Unix seconds, in JSON without quotes. */
      expires_at?: number | null | undefined;
      /** A string of 0 to 128 characters without control characters. */
      name?: string | null | undefined;
    };
  };
  findToken: {
    body: {
      /** A token: parley_ and 43 characters. */
      token: string;
    };
  };
  listAudit: {
    query: {
      /** A whole number from 1 to 100. */
      limit?: number | undefined;
      /** Returns items older than this one (aud_…). */
      starting_after?: string | undefined;
      /** Returns items newer than this one (aud_…). */
      ending_before?: string | undefined;
      /** Returns what this user did (usr_…), as themselves or as others, and what others did as this user. */
      actor_id?: string | undefined;
      /** Returns what was done to this object. */
      object_id?: string | undefined;
      /** One or more of attachment.created, attachment.renamed, attachment.deleted, attachment.downloaded, attachment.refused, attachment.withdrawn, block.created, block.deleted, contact.created, contact.renamed, contact.deleted, conversation.read, conversation.updated, group.created, group.declined, group.joined, group.left, group.updated, member.added, member.invited, member.removed, member.updated, member.withdrawn, message.created, message.updated, message.deleted, message.hidden, push_subscription.created, push_subscription.updated, push_subscription.deleted, reaction.created, reaction.deleted, token.created, token.revoked, user.created, user.deleted, user.updated, user.paused, user.resumed, user.linked, user.unlinked, webhook.created, webhook.updated, webhook.secret_rotated, webhook.disabled, webhook.deleted, separated by commas. */
      actions?: string | undefined;
      /** Returns entries of this time (Unix seconds) or later. */
      created_from?: number | undefined;
      /** Returns entries from before this time (Unix seconds). */
      created_before?: number | undefined;
      /** The beginnings of words of object_id, token_id and the texts in details, in any order. */
      q?: string | undefined;
    };
  };
}
