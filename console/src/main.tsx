import { render } from "preact";
import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import type { Me, Parley } from "../../packages/parley-client/src/index.ts";
import type { Operation, SendOperation, Sync } from "../../packages/parley-sync/src/index.ts";
import { isAdminAlone } from "./admin/places.ts";
import { explain, isAborted, isPassing, isRefused, nameLimit } from "./failures.ts";
import { Uploads } from "./files/uploads.ts";
import { Groups } from "./groups/groups.ts";
import { Drafts } from "./messages/drafts.ts";
import { Jumps } from "./messages/jumps.ts";
import { holdAttention, isLookedAt } from "./notifications/attention.ts";
import { Notifier } from "./notifications/notifier.ts";
import { endPush, Pusher } from "./notifications/pusher.ts";
import { KnownPeople } from "./people/known-people.ts";
import { NOTES, openPlace } from "./place.ts";
import { type Change, ChangeFeed } from "./session/changes.ts";
import { eraseCopies, eraseLeft, listUnsent, type SignedInUser, toError, useView } from "./session/copy.ts";
import { connect, type Session, SessionContext } from "./session/session.ts";
import { LinkQuestion, Mark, SignIn } from "./session/sign-in.tsx";
import { applyTheme } from "./session/theme.ts";
import { BY_USER, type SignOut, type StopSending, useSignIn } from "./session/use-sign-in.ts";
import { ConfirmDialog } from "./ui/dialog.tsx";
import { Reading } from "./ui/page-notes.tsx";
import { type ToastLink, Toasts, useToasts } from "./ui/toasts.tsx";
import { Workspace } from "./workspace.tsx";
import "./ui/base.css";
import "./people/people.css";
import "./ui/layout.css";
import "./ui/empty.css";
import "./people/contacts.css";
import "./search/search.css";
import "./messages/conversation.css";
import "./files/file-bar.css";
import "./files/files.css";
import "./files/selection.css";
import "./files/links.css";
import "./messages/messages.css";
import "./messages/message-text.css";
import "./messages/message-files.css";
import "./messages/reactions.css";
import "./groups/groups.css";
import "./messages/composer.css";
import "./files/upload-tray.css";
import "./ui/overlays.css";
import "./ui/menus.css";
import "./files/viewer.css";

const REFRESH_MS = 300;

function App() {
  const { phase, stopSending, start, finish, decline, enter, signOut } = useSignIn();
  if (phase.at === "starting") {
    return (
      <main class="sign-in">
        <Mark />
        <Reading />
      </main>
    );
  }
  if (phase.at === "unreachable") {
    const { reason, access } = phase;
    const retry = () => start(access);
    return (
      <Unreachable reason={reason} onRetry={retry} onSignOut={() => signOut(access, BY_USER, endUnopened)} />
    );
  }
  if (phase.at === "asking") {
    const { username, arrival } = phase;
    return <LinkQuestion username={username} onSignIn={() => finish(arrival)} onDecline={decline} />;
  }
  if (phase.at === "in") {
    return <SignedIn user={phase.user} stopSending={stopSending} signOut={signOut} />;
  }
  return <SignIn {...phase} onSignedIn={enter} />;
}

/** Signs out before the copy is opened. */
async function endUnopened(): Promise<void> {
  await Promise.all([endPush(), eraseCopies()]);
}

/** Keeps the session, so that an outage signs nobody out. */
function Unreachable(props: { reason: string; onRetry: () => void; onSignOut: () => void }) {
  const [isAsking, setAsking] = useState(false);
  return (
    <main class="sign-in">
      <div class="sign-in-card">
        <Mark />
        <h1>Parley does not answer</h1>
        <p class="failure" role="alert">
          {props.reason}
        </p>
        <button type="button" class="button primary" onClick={props.onRetry}>
          Try again
        </button>
        <button type="button" class="button" onClick={() => setAsking(true)}>
          Sign out
        </button>
      </div>
      {isAsking && (
        <ConfirmDialog
          title="Sign out?"
          text="Messages that were not sent are discarded."
          action="Sign out"
          onConfirm={async () => props.onSignOut()}
          onClose={() => setAsking(false)}
        />
      )}
    </main>
  );
}

function SignedIn(props: {
  user: SignedInUser;
  stopSending: { current: StopSending | undefined };
  signOut: SignOut;
}) {
  const { user, stopSending, signOut } = props;
  const [me, setMe] = useState(user.me);
  const { toasts, add, dismiss, dismissFailures } = useToasts();
  const { tools, halt } = useMemo(() => makeTools(user, signOut, setMe, add), [user, signOut, add]);
  useLive(user, tools);
  const { state, reason } = useView(user.sync.connection());
  const isAway = state === "connecting" && reason !== null;
  useLayoutEffect(() => {
    stopSending.current = halt;
    return () => {
      stopSending.current = undefined;
    };
  }, [stopSending, halt]);
  const session = useMemo<Session>(() => {
    const can: Session["can"] = (scope) => me.scopes.includes(scope);
    return { ...tools, me, can, isAway };
  }, [tools, me, isAway]);
  return (
    <SessionContext.Provider value={session}>
      <Workspace />
      <Toasts toasts={toasts} onDismiss={dismiss} onDismissFailures={dismissFailures} />
    </SessionContext.Provider>
  );
}

type Tools = Omit<Session, "me" | "can" | "isAway">;

function makeTools(
  user: SignedInUser,
  signOut: SignOut,
  setMe: (me: Me) => void,
  add: (text: string, isFailure: boolean, link?: ToastLink) => void,
): { tools: Tools; halt: StopSending } {
  const { access, parley, sync, me } = user;
  const say: Session["say"] = (text, link) => add(text, false, link);
  const drafts = new Drafts(me.id);
  const erase = () => sync.signOut().finally(typeof access === "object" ? eraseCopies : eraseLeft);
  const end = async () => void (await Promise.all([uploads.stop(), pusher.turnOff(), erase()]));
  const halt = () => {
    const unsent = uploads.unsent.map(({ file, conversationName }) => `${file.name}, to ${conversationName}`);
    void uploads.stop();
    return unsent;
  };
  let isOver = false;
  const endIfRefused = (error: unknown) => {
    // Several requests may be refused at once.
    if (!isRefused(error) || isOver) return;
    isOver = true;
    const messages = listUnsent(sync.outbox().getSnapshot());
    const unsent = [...halt(), ...messages.map((each) => `${toContent(each)}, to ${toName(sync, each)}`)];
    // A copy that is kept sends them after the next sign-in.
    if (typeof access === "string") drafts.takeBack(messages);
    signOut(access, { reason: `You were signed out. ${explain(error)}`, unsent }, async () => {
      await Promise.all([uploads.stop(), pusher.turnOff()]);
    });
  };
  const report = (doing: string, error?: unknown) => {
    if (isRefused(error)) endIfRefused(error);
    else if (!isAborted(error)) add(error === undefined ? doing : `${doing} ${explain(error)}`, true);
  };
  const events = new ChangeFeed();
  const people = new KnownPeople(sync, me);
  const showMe = (me: Me) => {
    people.learn([me]);
    setMe(me);
  };
  const refreshMe = refresher(parley, events, showMe, endIfRefused);
  const lasting = connect(access, (input, init) => fetch(input, { ...init, keepalive: true }));
  const uploads = new Uploads(parley, events, {
    maxFileSize: me.limits.max_file_size,
    remove: (uploadId) => lasting.uploads.delete(uploadId),
    idle: refreshMe,
    refused: endIfRefused,
  });
  const groups = new Groups(parley, endIfRefused);
  const pusher = new Pusher(parley, me);
  const notifier = new Notifier(me.id, () => pusher.isOn, {
    toName({ conversation_id, sender }) {
      const { group_id, name } = findConversation(sync, conversation_id) ?? {};
      return (group_id && name) || (sender && people.toPerson(sender).name);
    },
    open(id) {
      const opened = parley.conversations.retrieve(id).then(({ contact_id, group_id }) => {
        openPlace(contact_id ?? group_id ?? NOTES);
      });
      opened.catch((error) => add(`The conversation was not opened. ${explain(error)}`, true));
    },
  });
  const shown = { groups, people, jumps: new Jumps(), notifier, pusher };
  const tools = { parley, sync, events, uploads, drafts, ...shown, refreshMe, say, report, endIfRefused };
  return { tools: { ...tools, signOut: () => signOut(access, BY_USER, end) }, halt };
}

/** Describes the contents of a message. */
function toContent({ text, files }: SendOperation): string {
  return [...(text ? [`“${text}”`] : []), ...files.map(({ filename }) => filename)].join(", ");
}

function toName(sync: Sync, { conversation_id }: SendOperation): string {
  return findConversation(sync, conversation_id)?.name ?? "your notes";
}

function findConversation(sync: Sync, id: string) {
  const { items } = sync.inbox().getSnapshot();
  // The inbox has only the conversations that it has loaded.
  return items.find((each) => each.id === id) ?? sync.conversation(id).getSnapshot().conversation;
}

/** Returns a function that reloads the user soon, once for several calls. Ignores answers that arrive out of order. */
function refresher(
  parley: Parley,
  events: ChangeFeed,
  show: (me: Me) => void,
  fail: (error: unknown) => void,
): () => void {
  let isDue = false;
  let sent = 0;
  let shown = 0;
  let failures = 0;
  const ask = async () => {
    isDue = false;
    const number = ++sent;
    try {
      const me = await parley.me();
      if (number < shown) return;
      shown = number;
      failures = 0;
      show(me);
    } catch (error) {
      if (!isPassing(error)) return fail(error);
      // A later request gives the same answer.
      if (number < sent || isDue) return;
      isDue = true;
      await events.pause(++failures);
      void ask();
    }
  };
  return () => {
    if (isDue) return;
    isDue = true;
    setTimeout(ask, REFRESH_MS);
  };
}

/** Changes that may alter the number of unread conversations. */
const UNREAD: ReadonlySet<Change["type"]> = new Set([
  ...(["missed", "message.created", "message.deleted", "conversation.updated"] as const),
  ...(["contact.created", "contact.deleted", "group.created", "group.deleted"] as const),
]);

/** Follows the changes while the user is signed in. Closes the copy and stops uploads at the end. */
function useLive(user: SignedInUser, tools: Tools) {
  useLayoutEffect(() => {
    const { sync, events, uploads, groups, people, notifier, pusher, report, refreshMe } = tools;
    const isAlone = isAdminAlone(user.me.scopes);
    // The last upload reloads the user.
    const isOwnFile = (change: Change) =>
      change.type === "message.created" && change.payload.sender?.id === user.me.id && uploads.running > 0;
    const hear = (change: Change) => {
      groups.hear(change);
      people.hear(change);
      notifier.hear(change);
      const { type } = change;
      if (
        (UNREAD.has(type) && !isOwnFile(change)) ||
        (type === "user.updated" && change.payload.id === user.me.id)
      )
        refreshMe();
      // During uploads, the last one reloads the used storage.
      const isStored = type === "attachment.created" || type === "attachment.deleted";
      if (isStored && uploads.running === 0) refreshMe();
    };
    if (!isAlone) groups.load();
    const retry = () => document.hidden || events.publish({ type: "retry" });
    const attend = () => {
      if (!isLookedAt()) return;
      notifier.clear();
      void pusher.clear();
    };
    const leave = ({ persisted }: PageTransitionEvent) => persisted || void uploads.stop();
    attend();
    pusher.renew().catch((error) => report("Notifications may not reach you while Parley is closed.", error));
    const ends = [
      events.listen(hear),
      people.follow(),
      sync.onEvent((event) => events.hear(event)),
      sync.onMissed(() => events.publish({ type: "missed" })),
      sync.onRefused((operation) => reportRefused(operation, tools)),
      followConnection(tools, isAlone),
      followOutbox(tools),
      holdAttention(user.me.id),
      listenTo(window, { focus: attend, online: retry, pagehide: leave as (event: Event) => void }),
      listenTo(document, { visibilitychange: () => void [retry(), attend()] }),
    ];
    return () => {
      for (const end of ends) end();
      notifier.clear();
      void uploads.stop();
      void sync.close();
    };
  }, [user, tools]);
}

/** Retries what failed once the server is back. Says why if it refuses the connection, and if the copy is not stored. */
function followConnection({ sync, events, report }: Tools, isAlone: boolean): () => void {
  const connection = sync.connection();
  let before = { ...connection.getSnapshot(), isStored: true };
  const check = () => {
    const { state, reason, isStored } = connection.getSnapshot();
    if (state === "live" && before.reason) events.publish({ type: "retry" });
    if (state === "refused" && state !== before.state && !isAlone)
      report("Changes by others show only after a reload.", toError(reason));
    if (!isStored && before.isStored)
      report("This browser cannot store messages. Keep this tab open until they are sent.");
    before = connection.getSnapshot();
  };
  check();
  return connection.subscribe(check);
}

/** Reports and discards what can no longer be sent. */
function followOutbox({ sync, report, refreshMe }: Tools): () => void {
  const outbox = sync.outbox();
  const reported = new Set<string>();
  let count = 0;
  const check = () => {
    const all = listUnsent(outbox.getSnapshot());
    // The used storage changes with the files of a message.
    if (all.length < count) refreshMe();
    count = all.length;
    for (const each of all) {
      const { key, state, reason } = each;
      if (state !== "failed" || reason?.code !== "conversation_not_found" || reported.has(key)) continue;
      reported.add(key);
      const what = `Not sent, because you are no longer in the conversation: ${toContent(each)}`;
      report(what);
      void sync.discard(key);
    }
  };
  check();
  return outbox.subscribe(check);
}

function reportRefused(operation: Operation, { report }: Tools): void {
  const error = nameLimit(toError(operation.reason), "A message can have 20 different emoji.");
  if (operation.kind === "react")
    report(operation.is_there ? "Your reaction was not added." : "Your reaction was not removed.", error);
  else if (operation.kind === "delete") report("The message was not deleted.", error);
}

function listenTo(target: EventTarget, listeners: Record<string, (event: Event) => void>): () => void {
  for (const [type, listener] of Object.entries(listeners)) target.addEventListener(type, listener);
  return () => {
    for (const [type, listener] of Object.entries(listeners)) target.removeEventListener(type, listener);
  };
}

applyTheme();
render(<App />, document.getElementById("console")!);
