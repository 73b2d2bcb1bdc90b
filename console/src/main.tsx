import { render } from "preact";
import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import type { Me, Parley } from "../../client/src/index.ts";
import { Conversations } from "./conversations.ts";
import { Drafts } from "./drafts.ts";
import { explain, isAborted, isRefused } from "./failures.ts";
import { Groups } from "./groups/groups.ts";
import { Jumps } from "./jumps.ts";
import { ChangeFeed } from "./live.ts";
import { Notifier } from "./notifier.ts";
import { Outbox } from "./outbox.ts";
import { Reading } from "./page-notes.tsx";
import { endPush, Pusher } from "./pusher.ts";
import { connect, type Session, SessionContext, type SignedInUser, watchedFetch } from "./session.ts";
import { Mark, SignIn } from "./sign-in.tsx";
import { applyTheme } from "./theme.ts";
import { Toasts, useToasts } from "./toasts.tsx";
import { Typists } from "./typists.ts";
import { Uploads } from "./uploads.ts";
import { type SignOut, useSignIn } from "./use-sign-in.ts";
import { Workspace } from "./workspace.tsx";
import "./base.css";
import "./people.css";
import "./layout.css";
import "./empty.css";
import "./contacts.css";
import "./search.css";
import "./conversation.css";
import "./files.css";
import "./messages.css";
import "./message-files.css";
import "./reactions.css";
import "./groups/groups.css";
import "./composer.css";
import "./overlays.css";
import "./menus.css";

const REFRESH_MS = 300;
/** A hidden window has no events, and counts in its title how many conversations are unread. */
const HIDDEN_MS = 30_000;

function App() {
  const { phase, start, enter, signOut } = useSignIn();
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
    return <Unreachable reason={reason} onRetry={retry} onSignOut={() => signOut(access, "", endPush)} />;
  }
  if (phase.at === "in") return <SignedIn user={phase.user} signOut={signOut} />;
  return <SignIn reason={phase.reason} onSignedIn={enter} />;
}

/** Keeps the session, so that an outage does not sign anyone out. */
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

function SignedIn({ user, signOut }: { user: SignedInUser; signOut: SignOut }) {
  const { access } = user;
  const [me, setMe] = useState(user.me);
  const [isAway, setAway] = useState(false);
  const { toasts, add, dismiss, dismissFailures } = useToasts();
  const tools = useMemo(() => {
    const parley = connect(access);
    const say = (text: string) => add(text, false);
    const drafts = new Drafts(user.me.id);
    const leave = (reason = "") => signOut(access, reason, () => pusher.turnOff());
    const endIfRefused = (error: unknown) => {
      if (!isRefused(error)) return;
      drafts.takeBack(outbox.all);
      outbox.stop();
      leave(`You were signed out. ${explain(error)}`);
    };
    const report = (doing: string, error: unknown) => {
      if (isRefused(error)) endIfRefused(error);
      else if (!isAborted(error)) add(`${doing} ${explain(error)}`, true);
    };
    const refreshMe = refresher(parley, setMe, endIfRefused);
    const events = new ChangeFeed();
    const uploads = new Uploads(parley, {
      maxFileSize: user.me.limits.max_file_size,
      done: (payload, conversation_id) =>
        events.publish({ type: "attachment.created", conversation_id, payload }),
      idle: refreshMe,
      refused: endIfRefused,
    });
    const outbox = new Outbox(parley, {
      done: (payload) => {
        events.publish({ type: "message.created", payload });
        if (payload.attachments.length > 0) refreshMe();
      },
      refused: endIfRefused,
      undeliverable: ({ text, files }) => {
        const parts = [...(text ? [`“${text}”`] : []), ...files.map(({ name }) => name)];
        add(`Not sent, because you are no longer in the conversation: ${parts.join(", ")}`, true);
      },
    });
    const conversations = new Conversations(parley, events, {
      unreadChanged: refreshMe,
      failed: endIfRefused,
    });
    const groups = new Groups(parley, endIfRefused);
    const pusher = new Pusher(parley, user.me);
    const notifier = new Notifier(user.me.id, () => pusher.isOn);
    const foreignFiles = new Set<string>();
    const jumps = new Jumps();
    const typists = new Typists(parley, user.me.id, conversations);
    return {
      ...{
        parley,
        events,
        uploads,
        outbox,
        conversations,
        groups,
        notifier,
        drafts,
        foreignFiles,
        jumps,
        typists,
        pusher,
      },
      ...{ refreshMe, say, report, endIfRefused, signOut: leave },
    };
  }, [access, signOut, add, user]);
  useLive(user, tools, setAway);
  const session = useMemo<Session>(() => ({ ...tools, me, isAway }), [tools, me, isAway]);
  return (
    <SessionContext.Provider value={session}>
      <Workspace />
      <Toasts toasts={toasts} onDismiss={dismiss} onDismissFailures={dismissFailures} />
    </SessionContext.Provider>
  );
}

/** Returns a function that reloads the user after a moment, once for all calls until then. Ignores answers that arrive out of order. */
function refresher(parley: Parley, show: (me: Me) => void, fail: (error: unknown) => void): () => void {
  let isDue = false;
  let asked = 0;
  let shown = 0;
  const ask = async () => {
    isDue = false;
    const number = ++asked;
    try {
      const me = await parley.me();
      if (number < shown) return;
      shown = number;
      show(me);
    } catch (error) {
      fail(error);
    }
  };
  return () => {
    if (isDue) return;
    isDue = true;
    setTimeout(ask, REFRESH_MS);
  };
}

/** Follows the events while the user is signed in. Stops events and uploads at the end. */
function useLive(
  user: SignedInUser,
  tools: Omit<Session, "me" | "isAway">,
  setAway: (isAway: boolean) => void,
) {
  useLayoutEffect(() => {
    const { events, uploads, outbox, conversations, groups, notifier, pusher, typists, report, refreshMe } =
      tools;
    const controller = new AbortController();
    // While uploads run, their last one reloads the used storage.
    const forget = events.listen((change) => {
      conversations.hear(change);
      groups.hear(change);
      notifier.hear(change);
      typists.hear(change);
      if (change.type === "contact.deleted" || change.type === "group.deleted")
        outbox.leave(change.payload.conversation_id ?? "");
      const { type } = change;
      const isStored = type === "attachment.created" || type === "attachment.deleted" || type === "missed";
      if (isStored && uploads.running === 0) refreshMe();
    });
    groups.load();
    const counting = setInterval(() => document.hidden && refreshMe(), HIDDEN_MS);
    const watched = connect(user.access, watchedFetch(setAway));
    const isNotifying = () => notifier.isNeeded;
    events.follow(watched, controller.signal, user.since, isNotifying).catch((error) => {
      if (!controller.signal.aborted) report("Changes by others show only after a reload.", error);
    });
    const attend = () => {
      if (document.hidden || !document.hasFocus()) return;
      notifier.clear();
      void pusher.clear();
    };
    attend();
    pusher.renew().catch((error) => report("Notifications may not reach you while Parley is closed.", error));
    addEventListener("focus", attend);
    document.addEventListener("visibilitychange", attend);
    return () => {
      removeEventListener("focus", attend);
      document.removeEventListener("visibilitychange", attend);
      notifier.clear();
      forget();
      clearInterval(counting);
      controller.abort();
      uploads.stop();
      outbox.stop();
      typists.stop();
    };
  }, [user, tools, setAway]);
}

applyTheme();
render(<App />, document.getElementById("console")!);
