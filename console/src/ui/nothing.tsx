// The right side while no conversation is open.
import { useEffect, useState } from "preact/hooks";
import type { Contact } from "../../../packages/parley-client/src/index.ts";
import { AddContact } from "../people/add-contact.tsx";
import { openPlace } from "../place.ts";
import { useSession } from "../session/session.ts";
import { CONTROL, Keys } from "../shortcuts.tsx";
import { toNotAllowed } from "./page-notes.tsx";

/** `isNew`: there are no contacts yet. */
export function Nothing({ isNew, onAdded }: { isNew: boolean; onAdded: (contact: Contact) => void }) {
  return (
    <div class="empty">
      <TalkArt />
      {isNew ? <FirstSteps onAdded={onAdded} /> : <Choose />}
    </div>
  );
}

function Choose() {
  return (
    <>
      <h1>Choose a conversation</h1>
      <p class="muted">Choose a contact or a group to read and write messages and to share files.</p>
      <dl class="tips only-wide">
        <dt>
          <Keys keys={[CONTROL, "K"]} />
        </dt>
        <dd>Go to a contact or a group</dd>
        <dt>
          <Keys keys={["/"]} />
        </dt>
        <dd>Search messages and files</dd>
        <dt>
          <Keys keys={["?"]} />
        </dt>
        <dd>All shortcuts</dd>
      </dl>
    </>
  );
}

/** Shown to an administrator while there is nobody else on the server. */
export function FirstUsers({ heading: Heading = "h1" }: { heading?: "h1" | "h2" }) {
  return (
    <>
      <Heading>Create your first users</Heading>
      <p class="muted">
        You are the only user of this server. Create a user for each person, and a token to sign in with.
      </p>
      <a class="button primary" href="#admin/users?new">
        Create a user
      </a>
    </>
  );
}

function FirstSteps({ onAdded }: { onAdded: (contact: Contact) => void }) {
  const { can } = useSession();
  const [isAdding, setAdding] = useState(false);
  if (useIsAlone()) return <FirstUsers />;
  if (!can("contacts:write")) {
    return (
      <>
        <h1>Welcome to Parley</h1>
        <p class="muted">{toNotAllowed("add contacts")}</p>
      </>
    );
  }
  return (
    <>
      <h1>Welcome to Parley</h1>
      <p class="muted">
        You need the username of the other person. They get your messages once they add you too.
      </p>
      <button type="button" class="button primary" onClick={() => setAdding(true)}>
        Add your first contact
      </button>
      {!can("admin") && <AskAdmin />}
      {isAdding && (
        <AddContact suggestion="" onClose={() => setAdding(false)} onExisting={openPlace} onAdded={onAdded} />
      )}
    </>
  );
}

/** Whether there is nobody else on the server. Only an administrator can see that. */
export function useIsAlone(): boolean {
  const { parley, can } = useSession();
  const isAdmin = can("admin");
  const [isAlone, setAlone] = useState(false);
  useEffect(() => {
    if (!isAdmin) return;
    const controller = new AbortController();
    parley.users
      .list({ limit: 2 }, { signal: controller.signal })
      .then(({ data }) => setAlone(data.length === 1))
      // Only a hint: ignore failures.
      .catch(() => {});
    return () => controller.abort();
  }, [parley, isAdmin]);
  return isAlone;
}

/** Suggests the next step if there may be nobody to add. */
export function SecondUser() {
  const { can } = useSession();
  const isAlone = useIsAlone();
  if (!can("admin")) return <AskAdmin />;
  if (!isAlone) return null;
  return (
    <p class="muted small">
      You are the only user of this server. <a href="#admin/users?new">Create your first users</a>.
    </p>
  );
}

function AskAdmin() {
  return (
    <p class="muted small">Is the other person not on this server yet? Ask your administrator to add them.</p>
  );
}

function TalkArt() {
  return (
    <svg class="talk-art" viewBox="0 0 148 104" aria-hidden="true">
      <path class="theirs" d="M6 5h74a12 12 0 0 1 12 12v26a12 12 0 0 1-12 12H18A12 12 0 0 1 6 43z" />
      <path class="lines" d="M24 23h50M24 37h32" />
      <path class="ours" d="M68 50h74v39a12 12 0 0 1-12 12H68a12 12 0 0 1-12-12V62a12 12 0 0 1 12-12z" />
      <path class="ours-lines" d="M74 68h50M74 82h24" />
      <circle cx="126" cy="82" r="5" />
    </svg>
  );
}
