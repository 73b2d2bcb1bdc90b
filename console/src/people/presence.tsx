import { useEffect, useRef, useState } from "preact/hooks";
import type { Contact } from "../../../packages/parley-client/src/index.ts";
import { useChanges, useSession } from "../session/session.ts";
import { formatAgo, formatFullTime } from "../ui/format.ts";
import { MINUTE_MS, useInterval } from "../ui/use-interval.ts";

const NOW_SECONDS = 180;

/** Shows when the contact was last active, if the server says so. */
export function Presence({ contact }: { contact: Contact }) {
  const { seconds } = useLastActive(contact);
  if (seconds === null) return null;
  const isNow = Date.now() / 1000 - seconds < NOW_SECONDS;
  return (
    <>
      <span class={isNow ? "presence now" : "presence"} title={formatFullTime(seconds)}>
        {isNow ? "Active now" : `Active ${formatAgo(seconds)}`}
      </span>
      {" · "}
    </>
  );
}

/** Polls the time every minute, which is its precision: there is no event. A user who writes is active. */
function useLastActive(contact: Contact): { seconds: number | null } {
  const { parley, me, endIfRefused } = useSession();
  const [active, setActive] = useState({ seconds: contact.last_active_at });
  /** When the last message arrived. It may be newer than an answer that arrives later. */
  const spoken = useRef(0);
  const refresh = () => {
    parley.contacts
      .retrieve(contact.id)
      // A new object each time: the same time may no longer mean "now".
      .then(({ last_active_at: at }) => setActive({ seconds: at && Math.max(at, spoken.current) }))
      .catch(endIfRefused);
  };
  useEffect(refresh, [contact]);
  useInterval(refresh, MINUTE_MS);
  useChanges((change) => {
    if (change.type !== "message.created") return;
    const { conversation_id, sender, created_at } = change.payload;
    if (conversation_id !== contact.conversation_id || !sender || sender.id === me.id) return;
    spoken.current = created_at;
    setActive(({ seconds }) => ({ seconds: Math.max(seconds ?? 0, created_at) }));
  });
  return active;
}
