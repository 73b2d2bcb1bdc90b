import type { Contact } from "../../../packages/parley-client/src/index.ts";
import type { Change } from "../session/changes.ts";
import { useChanges, useSession } from "../session/session.ts";
import { type Pages, usePages } from "../ui/use-pages.ts";

const PAGE = 100;

/** Returns the contacts that match, kept up to date. */
export function useContacts(isBlocked: boolean, q: string): Pages<Contact> {
  const { parley, can } = useSession();
  const pages = usePages<Contact>(`${isBlocked} ${q}`, async (after, signal) => {
    if (!can("contacts:read")) return { data: [], has_more: false };
    const query = {
      limit: PAGE,
      active: !isBlocked,
      ...(q && { q }),
      ...(after && { starting_after: after }),
    };
    return parley.contacts.list(query, { signal });
  });
  useContactEvents(pages, q !== "" || isBlocked);
  return pages;
}

/**
 * Applies events to the list. `narrowed`: the list is filtered, so only the server knows whether a new contact
 * belongs to it.
 */
export function useContactEvents(pages: Pages<Contact>, narrowed: boolean): void {
  useChanges((change) => {
    if (change.type === "missed") return pages.reload();
    if (!isAboutContact(change)) return;
    const { type, payload } = change;
    const without = (items: Contact[]) => items.filter(({ id }) => id !== payload.id);
    const here = pages.items.some(({ id }) => id === payload.id);
    if (type === "contact.updated" && narrowed) pages.reload();
    else if (type === "contact.updated")
      pages.edit((items) => items.map((each) => (each.id === payload.id ? payload : each)));
    else if (type === "contact.deleted" || (type === "contact.moved" && here)) pages.edit(without);
    else if (type === "contact.moved" || (type === "contact.created" && narrowed)) pages.reload();
    else if (type === "contact.created") pages.edit((items) => [payload, ...without(items)]);
  });
}

type ContactChange = Extract<Change, { type: `contact.${string}` }>;

function isAboutContact(change: Change): change is ContactChange {
  return change.type.startsWith("contact.");
}
