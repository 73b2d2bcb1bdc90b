// What is on the screen once somebody is signed in. The address (#id) says which conversation is open, so that Back works.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Contact } from "../../client/src/index.ts";
import { ContactPane } from "./contact-pane.tsx";
import { Conversation } from "./conversation.tsx";
import { ContactHeader, NotesHeader } from "./conversation-header.tsx";
import { formatSize } from "./format.ts";
import { Icon, IconButton } from "./icons.tsx";
import { nameOf } from "./people.tsx";
import { useSession } from "./session.ts";
import { Mark } from "./sign-in.tsx";
import { UploadTray } from "./upload-tray.tsx";

const NOTES = "notes";

interface Open {
  contact: Contact;
  blocked: boolean;
}

export function Workspace() {
  const { me } = useSession();
  const place = usePlace();
  const [open, setOpen] = useOpenContact(place);
  const leave = () => go("");
  const root = useFocusKept(place ? ".conversation" : "[role=listbox]");
  const title = place === NOTES ? "Notes to self" : open && nameOf(open.contact);
  useEffect(() => {
    document.title = title ? `${title} · Parley` : "Parley";
  }, [title]);
  return (
    <main ref={root} class={place ? "workspace has-open" : "workspace"}>
      <div class="side">
        <div class="side-head">
          <Mark />
          <h1>Parley</h1>
        </div>
        <a class="notes-link" href={`#${NOTES}`} aria-current={place === NOTES ? "page" : undefined}>
          <span class="avatar notes" aria-hidden="true">
            <Icon name="notes" />
          </span>
          Notes to self
        </a>
        <ContactPane
          openId={place}
          onOpen={(contact, blocked) => {
            setOpen({ contact, blocked });
            go(contact.id);
          }}
        />
        <Account />
      </div>
      <div class="main">
        {place === NOTES ? (
          <Conversation
            key={NOTES}
            id={me.conversation_id}
            name="your notes"
            header={<NotesHeader onBack={leave} />}
          />
        ) : open ? (
          <Conversation
            key={open.contact.id}
            id={open.contact.conversation_id}
            name={nameOf(open.contact)}
            header={
              <ContactHeader
                {...open}
                onBack={leave}
                onChange={(contact, blocked) => setOpen({ contact, blocked })}
              />
            }
          />
        ) : (
          <Nothing />
        )}
      </div>
      <UploadTray />
    </main>
  );
}

function Nothing() {
  return (
    <div class="files-empty">
      <span class="empty-art">
        <Icon name="file" />
      </span>
      <h1>Choose a conversation</h1>
      <p class="muted">The files that you share with somebody are here, as soon as you choose whom.</p>
    </div>
  );
}

/** Who is signed in, and how much of the storage they use. */
function Account() {
  const { me, signOut } = useSession();
  const { used, quota } = me.storage;
  const text = quota === null ? `${formatSize(used)} stored` : `${formatSize(used)} of ${formatSize(quota)}`;
  return (
    <footer class="account">
      <span class="account-text">
        <span class="ellipsis">{me.display_name ?? me.username}</span>
        <span class="muted small">{text}</span>
        {quota !== null && <meter max={quota} high={quota * 0.9} value={used} aria-label="Storage used" />}
      </span>
      <IconButton icon="signOut" label="Sign out" onClick={() => signOut()} />
    </footer>
  );
}

/** Where the side that had the focus is hidden, as on a phone, the other one gets it. */
function useFocusKept(selector: string) {
  const root = useRef<HTMLElement>(null);
  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      if (document.activeElement !== document.body) return;
      root.current?.querySelector<HTMLElement>(selector)?.focus({ preventScroll: true });
    });
    return () => cancelAnimationFrame(frame);
  }, [selector]);
  return root;
}

function go(place: string): void {
  location.hash = place;
}

function usePlace(): string {
  const read = () => location.hash.slice(1);
  const [place, setPlace] = useState(read);
  useEffect(() => {
    const follow = () => setPlace(read());
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return place;
}

/** The contact that the address names. One that was not chosen from the list is read from the server. */
function useOpenContact(place: string): [Open | undefined, (open: Open) => void] {
  const { parley, events, report } = useSession();
  const [open, setOpen] = useState<Open>();
  const latest = useRef(open);
  latest.current = open;
  useEffect(() => {
    if (place === "" || place === NOTES || latest.current?.contact.id === place) return;
    const controller = new AbortController();
    readContact(parley, place, controller.signal)
      .then(setOpen)
      .catch((error) => {
        if (controller.signal.aborted) return;
        report("This conversation cannot be opened.", error);
        go("");
      });
    return () => controller.abort();
  }, [place, parley, report]);
  useEffect(
    () =>
      events.listen((event) => {
        const shown = latest.current;
        if (event.type === "contact.updated" && shown?.contact.id === event.payload.id)
          setOpen({ ...shown, contact: event.payload });
        if (event.type === "contact.deleted" && location.hash.slice(1) === event.payload.id) go("");
      }),
    [events],
  );
  return [open?.contact.id === place ? open : undefined, setOpen];
}

async function readContact(
  parley: ReturnType<typeof useSession>["parley"],
  id: string,
  signal: AbortSignal,
): Promise<Open> {
  const contact = await parley.contacts.retrieve(id, { signal });
  // A contact does not say whether it is blocked; the list does.
  const blocked = await parley.contacts.list({ username: contact.username, active: false }, { signal });
  return { contact, blocked: blocked.data.length > 0 };
}
