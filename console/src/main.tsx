import { render } from "preact";
import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import type { Me, Parley } from "../../packages/parley-client/src/index.ts";
import { isAdminAlone } from "./admin/places.ts";
import { explain, isAborted, isPassing, isRefused } from "./failures.ts";
import { Uploads } from "./files/uploads.ts";
import { Groups } from "./groups/groups.ts";
import { Conversations } from "./messages/conversations.ts";
import { Drafts } from "./messages/drafts.ts";
import { Jumps } from "./messages/jumps.ts";
import { Outbox, type Outgoing } from "./messages/outbox.ts";
import { Typists } from "./messages/typists.ts";
import { Notifier } from "./notifications/notifier.ts";
import { endPush, Pusher } from "./notifications/pusher.ts";
import { KnownPeople } from "./people/known-people.ts";
import { ChangeFeed } from "./session/live.ts";
import { connect, type Session, SessionContext, type SignedInUser, watchedFetch } from "./session/session.ts";
import { LinkQuestion, Mark, SignIn } from "./session/sign-in.tsx";
import { applyTheme } from "./session/theme.ts";
import { BY_USER, type SignOut, type StopSending, useSignIn } from "./session/use-sign-in.ts";
import { Reading } from "./ui/page-notes.tsx";
import { Toasts, useToasts } from "./ui/toasts.tsx";
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
import "./messages/messages.css";
import "./messages/message-files.css";
import "./messages/reactions.css";
import "./groups/groups.css";
import "./messages/composer.css";
import "./files/upload-tray.css";
import "./ui/overlays.css";
import "./ui/menus.css";
import "./files/viewer.css";

const REFRESH_MS = 300;
/** A hidden window gets no events, so it polls the number of unread conversations for its title. */
const HIDDEN_MS = 30_000;

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
      <Unreachable reason={reason} onRetry={retry} onSignOut={() => signOut(access, BY_USER, endPush)} />
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

/** Keeps the session, so that an outage signs nobody out. */
function Unreachable(props: { reason: string; onRetry: () => void; onSignOut: () => void }) {
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
        <button type="button" class="button" onClick={() => props.onSignOut()}>
          Sign out
        </button>
      </div>
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
  const [isAway, setAway] = useState(false);
  const { toasts, add, dismiss, dismissFailures } = useToasts();
  const { tools, halt } = useMemo(() => makeTools(user, signOut, setMe, add), [user, signOut, add]);
  useLive(user, tools, setAway);
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
  add: (text: string, isFailure: boolean) => void,
): { tools: Tools; halt: StopSending } {
  const { access, me } = user;
  const parley = connect(access);
  const say = (text: string) => add(text, false);
  const drafts = new Drafts(me.id);
  const end = async () => void (await Promise.all([uploads.stop(), pusher.turnOff()]));
  const leave = (ending = BY_USER) => signOut(access, ending, end);
  const halt = () => {
    const unsent = listUnsent(uploads, outbox, conversations);
    drafts.takeBack(outbox.all);
    void uploads.stop();
    outbox.stop();
    return unsent;
  };
  const endIfRefused = (error: unknown) => {
    if (isRefused(error)) leave({ reason: `You were signed out. ${explain(error)}`, unsent: halt() });
  };
  const report = (doing: string, error: unknown) => {
    if (isRefused(error)) endIfRefused(error);
    else if (!isAborted(error)) add(`${doing} ${explain(error)}`, true);
  };
  const events = new ChangeFeed();
  const people = new KnownPeople(parley, me, events, endIfRefused);
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
  const outbox = new Outbox(parley, events, {
    done: ({ attachments }) => attachments.length > 0 && refreshMe(),
    refused: endIfRefused,
    undeliverable: (message) =>
      add(`Not sent, because you are no longer in the conversation: ${toContent(message)}`, true),
  });
  const conversations = new Conversations(parley, me.id, events, {
    shown: (conversation) => people.learn([conversation.last_message?.sender]),
    unreadChanged: refreshMe,
    failed: endIfRefused,
  });
  const groups = new Groups(parley, endIfRefused);
  const pusher = new Pusher(parley, me);
  const notifier = new Notifier(me.id, () => pusher.isOn);
  const typists = new Typists(parley, me.id, conversations, people);
  const shown = { conversations, groups, people, jumps: new Jumps(), notifier, pusher, typists };
  const tools = { parley, events, uploads, outbox, drafts, ...shown, refreshMe, say, report, endIfRefused };
  return { tools: { ...tools, signOut: () => leave() }, halt };
}

/** Describes the contents of a message. */
function toContent({ text, files }: Outgoing): string {
  return [...(text ? [`“${text}”`] : []), ...files.map(({ name }) => name)].join(", ");
}

/** Returns the names of unsent files and messages, with their recipients. */
function listUnsent(uploads: Uploads, outbox: Outbox, conversations: Conversations): string[] {
  const messages = outbox.all.map((each) => {
    const name = conversations.find(each.conversationId)?.name ?? "your notes";
    return `${toContent(each)}, to ${name}`;
  });
  return [
    ...uploads.unsent.map(({ file, conversationName }) => `${file.name}, to ${conversationName}`),
    ...messages,
  ];
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

/** Returns a function that shows whether the server is unreachable, and calls `back` when it answers again. */
function noteAway(show: (isAway: boolean) => void, back: () => void): (isAway: boolean) => void {
  let wasAway = false;
  return (isAway) => {
    show(isAway);
    if (wasAway && !isAway) back();
    wasAway = isAway;
  };
}

/** Follows the events while the user is signed in. Stops events and uploads at the end. */
function useLive(user: SignedInUser, tools: Tools, setAway: (isAway: boolean) => void) {
  useLayoutEffect(() => {
    // Such a token has nothing to follow.
    if (isAdminAlone(user.me.scopes)) return;
    const { events, uploads, outbox, conversations, groups, people, notifier, pusher, typists } = tools;
    const { report, refreshMe } = tools;
    const controller = new AbortController();
    // During uploads, the last one reloads the used storage.
    const forget = events.listen((change) => {
      conversations.hear(change);
      groups.hear(change);
      people.hear(change);
      notifier.hear(change);
      typists.hear(change);
      if (change.type === "contact.deleted" || change.type === "group.deleted")
        outbox.leave(change.payload.conversation_id ?? "");
      if (change.type === "user.updated" && change.payload.id === user.me.id) refreshMe();
      const { type } = change;
      const isStored = type === "attachment.created" || type === "attachment.deleted";
      if (isStored && uploads.running === 0) refreshMe();
    });
    groups.load();
    people.load();
    const counting = setInterval(() => document.hidden && refreshMe(), HIDDEN_MS);
    const retry = () => document.hidden || events.publish({ type: "retry" });
    const watched = connect(user.access, watchedFetch(noteAway(setAway, retry)));
    const isNotifying = () => notifier.isNeeded;
    events.follow(watched, controller.signal, user.since, isNotifying).catch((error) => {
      if (!controller.signal.aborted) report("Changes by others show only after a reload.", error);
    });
    const attend = () => {
      if (document.hidden || !document.hasFocus()) return;
      notifier.clear();
      void pusher.clear();
    };
    const leave = ({ persisted }: PageTransitionEvent) => persisted || void uploads.stop();
    attend();
    pusher.renew().catch((error) => report("Notifications may not reach you while Parley is closed.", error));
    addEventListener("focus", attend);
    addEventListener("online", retry);
    addEventListener("pagehide", leave);
    document.addEventListener("visibilitychange", retry);
    document.addEventListener("visibilitychange", attend);
    return () => {
      removeEventListener("focus", attend);
      removeEventListener("online", retry);
      removeEventListener("pagehide", leave);
      document.removeEventListener("visibilitychange", retry);
      document.removeEventListener("visibilitychange", attend);
      notifier.clear();
      forget();
      clearInterval(counting);
      controller.abort();
      void uploads.stop();
      outbox.stop();
      typists.stop();
    };
  }, [user, tools, setAway]);
}

applyTheme();
render(<App />, document.getElementById("console")!);
