// Requests: the invitations that the user has received, and the contacts who have not added the user yet.
import { useEffect } from "preact/hooks";
import type { Contact } from "../../../packages/parley-client/src/index.ts";
import { isGone } from "../failures.ts";
import { Invitations } from "../groups/invitations.tsx";
import { useGroups } from "../groups/use-groups.ts";
import { useChanges, useSession } from "../session/session.ts";
import { PageFailure, Reading, toNotAllowed } from "../ui/page-notes.tsx";
import { type Pages, readFound, usePages } from "../ui/use-pages.ts";
import { ContactList } from "./contact-list.tsx";
import { useContactEvents } from "./use-contacts.ts";

const PAGE = 50;
/** How many conversations to read at once. */
const AT_ONCE = 4;

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
     * Only the conversation says whether the contact has joined, but those who show their activity have. The copy is
     * right about those who have joined: there is no event when others do.
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
      // The same object, because it has the link to the next page.
      return Object.assign(page, { data: await filter(page.data, isWaiting) });
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

/** Filters by an answer of the server, and asks for a few at once. */
async function filter<T>(all: readonly T[], test: (each: T) => Promise<boolean>): Promise<T[]> {
  const left = [...all];
  const passed = new Set<T>();
  const work = async () => {
    try {
      for (let each = left.shift(); each; each = left.shift()) if (await test(each)) passed.add(each);
    } finally {
      // After a failure nothing more is asked.
      left.length = 0;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return all.filter((each) => passed.has(each));
}
