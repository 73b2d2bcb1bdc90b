import { RESOURCE_EVENTS } from "../../db/queries/events/events.ts";
import {
  anyObject,
  anyOf,
  bool,
  described,
  id,
  integer,
  listOf,
  object,
  oneOf,
  resource,
  text,
  textOrNull,
  time,
  withOptional,
} from "../resource/schema.ts";
import { FAMILIES } from "./event-families.ts";
import { TYPING } from "./event-types.ts";

export const referenceResource = resource(
  "Reference",
  { id: text, conversation_id: textOrNull },
  "What an event is about, if the recipient can't see it any more.",
);

export const memberReferenceResource = withOptional(
  resource(
    "MemberReference",
    { id: id("mem"), group_id: id("grp"), user_id: described(id("usr"), "Of a member who has left.") },
    "The member of a group that an event is about, if the recipient can't see it any more.",
  ),
  "user_id",
);

export const userReferenceResource = resource(
  "UserReference",
  { id: id("usr") },
  "The user that an event is about, if the recipient can't see them any more.",
);

const common = {
  id: id("evt"),
  type: oneOf<string>(...RESOURCE_EVENTS),
  timestamp: time,
  conversation_id: described(textOrNull, "`cnv_…`; null if the event belongs to no conversation."),
};
const userId = described(id("usr"), "The recipient.");

export const eventResource = withOptional(
  resource(
    "Event",
    {
      id: common.id,
      sequence: described(
        integer,
        "One more than in your previous event. Without `types` and with the scopes of all types, a larger step means that events are missing.",
      ),
      type: common.type,
      timestamp: common.timestamp,
      user_id: userId,
      conversation_id: common.conversation_id,
      notify: described(
        bool,
        "Only `message.created` and `message.mentioned` have it: whether to alert the recipient.",
      ),
      payload: described(
        anyOf(
          ...Object.values(FAMILIES).map(({ resource }) => resource),
          referenceResource,
          memberReferenceResource,
          userReferenceResource,
        ),
        "The resource as the recipient sees it now; if it is deleted, or the recipient can't see it any more, only the ids.",
      ),
    },
    "A change of something that the recipient can see.",
  ),
  "notify",
);

/** The same for all recipients: a frame is made once. */
export const typingEventResource = resource(
  "TypingEvent",
  {
    type: { type: "string", const: TYPING },
    conversation_id: id("cnv"),
    payload: object({
      conversation_id: id("cnv"),
      user_id: described(id("usr"), "Who is typing."),
      expires_at: described(time, "Until when to show it."),
    }),
  },
  "Somebody is typing. Only streams have it, and it has no id to continue after.",
);

export const sharedEventResource = resource(
  "SharedEvent",
  {
    ...common,
    type: oneOf<string>(...RESOURCE_EVENTS, "webhook.test"),
    recipients: described(
      listOf(object({ user_id: id("usr"), notify: bool })),
      "The users who see the change, and whether to alert each.",
    ),
    payload: described(
      anyObject,
      "As in `Event`, without what depends on the recipient: a message has no `reactions`, a group no `role` and no `invited_by`.",
    ),
  },
  "A change, as a webhook of all users gets it.",
);

export const testEventResource = resource(
  "TestEvent",
  {
    id: common.id,
    type: { type: "string", const: "webhook.test" },
    timestamp: common.timestamp,
    user_id: userId,
    conversation_id: { type: "null" },
    payload: object({ id: id("whk") }),
  },
  "The event that a test of a webhook sends.",
);
