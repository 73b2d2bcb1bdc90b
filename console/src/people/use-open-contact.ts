import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { Contact, Parley } from "../../../packages/parley-client/src/index.ts";
import { isPassing } from "../failures.ts";
import { isFiles, isGroup, leaveForGood, NOTES } from "../place.ts";
import { useChanges, useSession } from "../session/session.ts";

export interface Open {
  contact: Contact;
  blocked: boolean;
}

/** Returns the contact that the URL names. Reads it from the server unless it was chosen from the list. */
export function useOpenContact(
  place: string,
): [Open | undefined, (open: Open) => void, (id: string, change: Partial<Open>) => void] {
  const { say, can, people } = useSession();
  const [open, setOpen] = useState<Open>();
  const latest = useRef(open);
  latest.current = open;
  const isOpen = (id: string) => latest.current?.contact.id === id;
  const isElsewhere = place === "" || place === NOTES || isGroup(place) || isFiles(place);
  const isContact = !isElsewhere && can("contacts:read");
  const { read, stop } = useReader(place, setOpen, isOpen);
  // Applied to the current state: another contact may be open by now, or this one may have changed.
  const change = useCallback(
    (id: string, change: Partial<Open>) =>
      setOpen((old) => (old?.contact.id === id ? { ...old, ...change } : old)),
    [],
  );
  useEffect(() => {
    if (isContact && !isOpen(place)) void read();
    return stop;
  }, [place]);
  useChanges((event) => {
    if (event.type === "missed" && isContact) void read();
    else if (event.type === "contact.updated") {
      const { payload: contact } = event;
      change(contact.id, { contact });
      // The running request's answer may be older.
      if (contact.id === place && !isOpen(place)) void read();
    } else if (event.type === "contact.deleted") {
      const { id } = event.payload;
      if (isOpen(id)) {
        latest.current = undefined;
        setOpen(undefined);
      }
      if (location.hash.slice(1) !== id) return;
      stop();
      say(`${people.toContact(event.payload).name} was deleted.`);
      leaveForGood();
    }
  });
  return [open?.contact.id === place ? open : undefined, setOpen, change];
}

/** Returns a function that reads the contact of a place, and one that aborts. */
function useReader(place: string, show: (open: Open) => void, isOpen: (id: string) => boolean) {
  const { parley, events, report } = useSession();
  const reading = useRef(new AbortController());
  const stop = () => reading.current.abort();
  const read = async () => {
    stop();
    const controller = new AbortController();
    reading.current = controller;
    const { signal } = controller;
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        const open = await readContact(parley, place, signal);
        if (!signal.aborted) show(open);
        return;
      } catch (error) {
        if (signal.aborted) return;
        if (isOpen(place) && isPassing(error)) await events.pause(failures);
        else {
          report("This conversation cannot be opened.", error);
          return leaveForGood();
        }
      }
    }
  };
  return { read, stop };
}

async function readContact(parley: Parley, id: string, signal: AbortSignal): Promise<Open> {
  const contact = await parley.contacts.retrieve(id, { signal });
  // A contact does not say whether it is blocked; the filtered list does.
  const blocked = await parley.contacts.list({ username: contact.username, active: false }, { signal });
  return { contact, blocked: blocked.data.length > 0 };
}
