// Requests: the invitations that the user has received, and the contacts who have not added the user yet.
import { useEffect } from "preact/hooks";
import type { Contact } from "../../../packages/parley-client/src/index.ts";
import { isGone } from "../failures.ts";
import { Invitations } from "../groups/invitations.tsx";
import { useGroups } from "../groups/use-groups.ts";
import { useChanges, useSession } from "../session/session.ts";
import { forEachAtOnce } from "../ui/at-once.ts";
import { PageFailure, Reading, toNotAllowed } from "../ui/page-notes.tsx";
import { type Pages, readFound, usePages } from "../ui/use-pages.ts";
import { ContactList } from "./contact-list.tsx";
import { useContactEvents } from "./use-contacts.ts";

const PAGE = 50;

interface Opening {
  openId: string;
  onOpen: (contact: Contact) => void;
}

export function Requests(props: Opening) {
  const { can } = useSession();
  const { all, isLoaded } = useGroups();
  const received = all.filter(({ role }) => role === "invited").length;
  return (
    <>
      <div class="requests-head">
        <h2>{isLoaded ? `Received (${received})` : "Received"}</h2>
        <p class="muted small">
          {isLoaded && received === 0 && "No invitations to groups. "}
          You can't see who has added you: add people to get their messages.
        </p>
      </div>
      <Invitations />
      {can("contacts:read") && can("messages:read") ? (
        <Sent {...props} />
      ) : (
        <p class="requests-head muted small">{toNotAllowed("see contacts and conversations")}</p>
      )}
    </>
  );
}

function Sent({ openId, onOpen }: Opening) {
  const pages = useWaitingContacts();
  const { items, current, hasMore, loading } = pages;
  // The first pages may have no such contact.
  useEffect(() => {
    if (items.length === 0) pages.more();
  });
  return (
    <>
      <div class="requests-head">
        <h2>{current ? `Sent (${items.length}${hasMore ? "+" : ""})` : "Sent"}</h2>
        {current && (
          <p class="muted small">
            {items.length > 0 || hasMore
              ? "Contacts who have not added you yet. They get your messages when they do."
              : "You are not waiting for anyone."}
          </p>
        )}
        {loading && <Reading />}
      </div>
      {items.length > 0 && (
        <ContactList
          label="Contacts who have not added you"
          pages={pages}
          openId={openId}
          onOpen={(entry) => onOpen(entry as Contact)}
        />
      )}
      <PageFailure pages={pages} />
    </>
  );
}

/** Returns the contacts who have never added the user, newest first. */
function useWaitingContacts(): Pages<Contact> {
  const { parley, me, sync } = useSession();
  const pages = usePages<Contact>("", (after, signal) => {
    const { items } = sync.inbox().getSnapshot();
    const joined = new Set(items.filter((each) => each.contact_joined).map(({ id }) => id));
    /**
     * Only the conversation says whether a contact has joined, but contacts who show their activity have. The copy may
     * lack some who have, because joining has no event.
     */
    const isWaiting = async ({ conversation_id, last_active_at }: Contact): Promise<boolean> => {
      if (last_active_at !== null || joined.has(conversation_id)) return false;
      try {
        const { contact_joined } = await parley.conversations.retrieve(conversation_id, { signal });
        return contact_joined === false;
      } catch (error) {
        if (isGone(error)) return false;
        throw error;
      }
    };
    const readWaiting = async (query: object) => {
      const page = await parley.contacts.list(query, { signal });
      const waiting = new Set<Contact>();
      await forEachAtOnce(page.data, async (contact) => {
        if (await isWaiting(contact)) waiting.add(contact);
      });
      // The same object, because it has the link to the next page.
      return Object.assign(page, { data: page.data.filter((contact) => waiting.has(contact)) });
    };
    return readFound(readWaiting, { active: true, limit: PAGE, ...(after && { starting_after: after }) });
  });
  useContactEvents(pages, true);
  useChanges((change) => {
    if (change.type !== "message.created" || change.payload.sender?.id === me.id) return;
    // Who writes to the user has added them.
    pages.edit((items) =>
      items.filter(({ conversation_id }) => conversation_id !== change.payload.conversation_id),
    );
  });
  return pages;
}
