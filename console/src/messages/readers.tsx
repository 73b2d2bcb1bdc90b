import { useEffect } from "preact/hooks";
import type { Message, ShownUser } from "../../../packages/parley-client/src/index.ts";
import { toHandle } from "../people/known-people.ts";
import { Avatar, usePeople } from "../people/people.tsx";
import { useSession } from "../session/session.ts";
import { Dialog } from "../ui/dialog.tsx";
import { PageFailure, Reading } from "../ui/page-notes.tsx";
import { usePages } from "../ui/use-pages.ts";

const PAGE = 100;

/** The people who have read a message, except those who read privately. */
export function Readers({ message: { id }, onClose }: { message: Message; onClose: () => void }) {
  const { parley } = useSession();
  const people = usePeople();
  const pages = usePages<ShownUser>(id, async (after, signal) => {
    const query = { limit: PAGE, ...(after && { starting_after: after }) };
    const page = await parley.messages.listReaders(id, query, { signal });
    people.learn(page.data);
    return page;
  });
  useEffect(() => pages.more());
  const { items, hasMore, loading, failure } = pages;
  const isEmpty = items.length === 0;
  return (
    <Dialog title={isEmpty ? "Read by" : `Read by ${items.length}${hasMore ? "+" : ""}`} onClose={onClose}>
      {loading && isEmpty && <Reading />}
      <PageFailure pages={pages} />
      {isEmpty && !loading && !failure && <p class="dialog-text">Nobody has read this message yet.</p>}
      <ul class="members" aria-label="Who has read it">
        {items.map((user) => {
          const person = people.toPerson(user);
          const handle = toHandle(person);
          return (
            <li key={user.id} class="member">
              <Avatar {...person} />
              <span class="contact-text">
                <span class="contact-name">{person.name}</span>
                {handle && <span class="muted small ellipsis">{handle}</span>}
              </span>
            </li>
          );
        })}
      </ul>
    </Dialog>
  );
}
