// The screen after the sign-in. The URL (#id) names the open conversation, so that Back works.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Contact } from "../../packages/parley-client/src/index.ts";
import { LoadAdministration } from "./admin/load.tsx";
import { isAdminAlone, isAdminPlace, toAllowedPlace } from "./admin/places.ts";
import { AllFiles } from "./files/all-files.tsx";
import { useDropGuard } from "./files/drop.ts";
import { useOnePlays } from "./files/player.tsx";
import { UploadTray } from "./files/upload-tray.tsx";
import { OpenGroup } from "./groups/open-group.tsx";
import { useGroups } from "./groups/use-groups.ts";
import { Conversation } from "./messages/conversation.tsx";
import { ContactHeader, NotesHeader } from "./messages/conversation-header.tsx";
import { toUnreadPrefix, useUnreadMark } from "./notifications/unread-mark.ts";
import { ContactDetails } from "./people/contact-details.tsx";
import { ContactPane } from "./people/contact-pane.tsx";
import { usePeople } from "./people/people.tsx";
import { type Open, useOpenContact } from "./people/use-open-contact.ts";
import { FILES, isFiles, isGroup, NOTES, openPlace, usePlace } from "./place.ts";
import { QuickSwitcher } from "./search/switcher.tsx";
import { Account } from "./session/account.tsx";
import { listUnsent } from "./session/copy.ts";
import { useSession } from "./session/session.ts";
import { Mark } from "./session/sign-in.tsx";
import { ShortcutList, useShortcuts } from "./shortcuts.tsx";
import { Icon } from "./ui/icons.tsx";
import { Nothing } from "./ui/nothing.tsx";
import { NotAllowed, Reading } from "./ui/page-notes.tsx";

export function Workspace() {
  const { me } = useSession();
  const place = toAllowedPlace(usePlace(), me.scopes);
  const [shown, show] = useState<"switcher" | "shortcuts">();
  const close = () => show(undefined);
  useDropGuard();
  useOnePlays();
  useLeaveGuard();
  useUnreadMark(me.unread_conversations);
  useShortcuts({
    goTo: () => isAdminAlone(me.scopes) || show("switcher"),
    explain: () => show("shortcuts"),
    write: () => document.querySelector<HTMLElement>(".composer textarea")?.focus(),
    search: isAdminPlace(place) ? focusAdminSearch : focusSearch,
  });
  return (
    <>
      {isAdminPlace(place) ? (
        <LoadAdministration place={place} />
      ) : (
        <Messenger place={place} onShortcuts={() => show("shortcuts")} />
      )}
      <UploadTray />
      {shown === "switcher" && <QuickSwitcher onClose={close} />}
      {shown === "shortcuts" && <ShortcutList onClose={close} />}
    </>
  );
}

/** Focuses the search, also on a phone, where an open conversation hides it. */
function focusSearch(): void {
  const field = document.querySelector<HTMLInputElement>(".contacts input[type=search]");
  // At once if possible: what is typed next belongs to it.
  field?.select();
  if (field?.offsetParent !== null) return;
  openPlace("");
  requestAnimationFrame(() => field.select());
}

/** Pages without a search lead to the search for users. */
function focusAdminSearch(): void {
  const find = () => document.querySelector<HTMLInputElement>(".admin-main input[type=search]");
  const select = () => requestAnimationFrame(() => find()?.select());
  if (find()) return void select();
  addEventListener("hashchange", select, { once: true });
  openPlace("admin/users");
}

function Messenger({ place, onShortcuts }: { place: string; onShortcuts: () => void }) {
  const { me, can, events, isAway } = useSession();
  const [open, setOpen, changeOpen] = useOpenContact(place);
  const [isNew, setNew] = useState(false);
  const { all } = useGroups();
  const people = usePeople();
  const root = useFocusKept(place ? ".conversation" : "[role=listbox]");
  const group = all.find(({ id }) => id === place);
  const title = isFiles(place)
    ? "Files"
    : place === NOTES
      ? "Notes to self"
      : (group?.name ?? (open && people.toContact(open.contact).name));
  const unread = me.unread_conversations;
  useEffect(() => {
    document.title = `${toUnreadPrefix(unread)}${title ? `${title} · ` : ""}Parley`;
    return () => {
      document.title = "Parley";
    };
  }, [title, unread]);
  const openContact = (contact: Contact, blocked: boolean) => {
    setOpen({ contact, blocked });
    openPlace(contact.id);
  };
  const nothing = (
    <Nothing
      isNew={isNew}
      onAdded={(payload) => {
        events.publish({ type: "contact.created", payload });
        openContact(payload, false);
      }}
    />
  );
  return (
    <main ref={root} class={place ? "workspace has-open" : "workspace"}>
      <div class="side">
        <header class="side-head">
          <Mark />
          <h1>Parley</h1>
          {can("admin") && (
            <a class="icon-button" href="#admin" aria-label="Administration" title="Administration">
              <Icon name="shield" />
            </a>
          )}
          {can("attachments:read") && (
            <a
              class="icon-button"
              href={`#${FILES}`}
              aria-label="Files of all conversations"
              title="Files of all conversations"
              aria-current={isFiles(place) && "page"}
            >
              <Icon name="file" />
            </a>
          )}
          <Account onShortcuts={onShortcuts} />
        </header>
        <p class="away small" role="status">
          {isAway && "Reconnecting…"}
        </p>
        <ContactPane openId={place} onOpen={openContact} onNew={setNew} />
      </div>
      <div class="main">
        {place === "" ? nothing : <OpenPlace place={place} open={open} onChange={changeOpen} />}
      </div>
    </main>
  );
}

function OpenPlace(props: {
  place: string;
  open: Open | undefined;
  onChange: (id: string, change: Partial<Open>) => void;
}) {
  const { place, open, onChange } = props;
  const { me, can } = useSession();
  const people = usePeople();
  const leave = () => openPlace("");
  if (place === NOTES) {
    return (
      <Conversation
        key={NOTES}
        id={me.conversation_id}
        name="your notes"
        kind="self"
        header={(tabs) => <NotesHeader onBack={leave} tabs={tabs} />}
      />
    );
  }
  if (isFiles(place)) return <AllFiles place={place} onBack={leave} />;
  if (isGroup(place)) return <OpenGroup key={place} id={place} onBack={leave} />;
  if (!can("contacts:read")) return <NotAllowed what="see contacts" />;
  if (!open) return <Reading />;
  const { contact } = open;
  const isOwn = contact.username.toLowerCase() === me.username.toLowerCase();
  return (
    <Conversation
      key={contact.id}
      id={contact.conversation_id}
      name={people.toContact(contact).name}
      kind={isOwn ? "self" : "contact"}
      isBlocked={open.blocked}
      header={(tabs) => (
        <ContactHeader
          {...open}
          onBack={leave}
          tabs={tabs}
          onChange={(change) => onChange(contact.id, change)}
        />
      )}
      details={<ContactDetails contact={contact} />}
    />
  );
}

/** Asks before the window closes if files or messages are unsent. A draft is kept. */
function useLeaveGuard(): void {
  const { uploads, sync, drafts } = useSession();
  useLayoutEffect(() => {
    const ask = (event: BeforeUnloadEvent) => {
      const messages = listUnsent(sync.outbox().getSnapshot());
      const isAnyUnsent = uploads.unsent.length > 0 || messages.length > 0 || drafts.hasFiles;
      if (isAnyUnsent) event.preventDefault();
    };
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, [uploads, sync, drafts]);
}

/** Moves the focus to the other side if its own side becomes hidden, as on a phone. */
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
