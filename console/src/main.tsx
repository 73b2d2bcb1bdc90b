import { render } from "preact";
import { useCallback, useLayoutEffect, useMemo, useState } from "preact/hooks";
import type { Me } from "../../client/src/index.ts";
import { explain, isAborted, isRefused } from "./failures.ts";
import { EventHub } from "./live.ts";
import { Reading } from "./page-notes.tsx";
import { connect, keepToken, keptToken, type Session, SessionContext, watchedFetch } from "./session.ts";
import { Mark, SignIn } from "./sign-in.tsx";
import { Toasts, useToasts } from "./toasts.tsx";
import { Uploads } from "./uploads.ts";
import { Workspace } from "./workspace.tsx";
import "./base.css";
import "./layout.css";
import "./files.css";
import "./overlays.css";

const REFRESH_MS = 300;

type Phase =
  | { at: "starting" }
  | { at: "unreachable"; reason: string }
  | { at: "out"; reason: string }
  | { at: "in"; token: string; me: Me };

function App() {
  const [phase, setPhase] = useState<Phase>(keptToken() ? { at: "starting" } : { at: "out", reason: "" });
  const start = useCallback(() => {
    const token = keptToken();
    if (token === null) return;
    setPhase({ at: "starting" });
    connect(token)
      .me()
      .then((me) => setPhase({ at: "in", token, me }))
      .catch((error) => {
        const reason = explain(error);
        if (!isRefused(error)) return setPhase({ at: "unreachable", reason });
        keepToken(null);
        setPhase({ at: "out", reason });
      });
  }, []);
  useLayoutEffect(start, []);
  const signOut = useCallback((reason = "") => {
    keepToken(null);
    history.replaceState(null, "", location.pathname);
    setPhase({ at: "out", reason });
  }, []);
  if (phase.at === "starting") {
    return (
      <main class="sign-in">
        <Reading />
      </main>
    );
  }
  if (phase.at === "unreachable") return <Unreachable {...phase} onRetry={start} onSignOut={signOut} />;
  if (phase.at === "in") return <SignedIn token={phase.token} me={phase.me} signOut={signOut} />;
  return <SignIn reason={phase.reason} onSignedIn={(token, me) => setPhase({ at: "in", token, me })} />;
}

/** The token is kept: it is not asked for again because of a server that is away. */
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

function SignedIn(props: { token: string; me: Me; signOut: (reason?: string) => void }) {
  const { token, signOut } = props;
  const [me, setMe] = useState(props.me);
  const [isAway, setAway] = useState(false);
  const { toasts, add, dismiss, dismissFailures } = useToasts();
  const tools = useMemo(() => {
    const parley = connect(token);
    const say = (text: string) => add(text, false);
    const endIfRefused = (error: unknown) => {
      if (isRefused(error)) signOut(`You were signed out. ${explain(error)}`);
    };
    const report = (doing: string, error: unknown) => {
      if (isRefused(error)) endIfRefused(error);
      else if (!isAborted(error)) add(`${doing} ${explain(error)}`, true);
    };
    let isDue = false;
    const refreshMe = () => {
      if (isDue) return;
      isDue = true;
      setTimeout(() => {
        isDue = false;
        parley.me().then(setMe, endIfRefused);
      }, REFRESH_MS);
    };
    const events = new EventHub();
    const uploads = new Uploads(parley, {
      maxFileSize: props.me.limits.max_file_size,
      done: (payload, conversation_id) =>
        events.tell({ type: "attachment.created", conversation_id, payload }),
      idle: refreshMe,
      refused: endIfRefused,
    });
    const foreignFiles = new Set<string>();
    return { parley, events, uploads, foreignFiles, refreshMe, say, report, endIfRefused, signOut };
  }, [token, signOut, add, props.me]);
  useLive(token, tools, setAway);
  const session = useMemo<Session>(() => ({ ...tools, me, isAway }), [tools, me, isAway]);
  return (
    <SessionContext.Provider value={session}>
      <Workspace />
      <Toasts toasts={toasts} onDismiss={dismiss} onDismissFailures={dismissFailures} />
    </SessionContext.Provider>
  );
}

/** Follows the events as long as somebody is signed in, and ends what is under way with it. */
function useLive(token: string, tools: Omit<Session, "me" | "isAway">, setAway: (isAway: boolean) => void) {
  useLayoutEffect(() => {
    const { events, uploads, report, refreshMe } = tools;
    const controller = new AbortController();
    // Uploads tell how much they have stored once they are all done.
    const forget = events.listen(({ type }) => {
      const isStored = type === "attachment.created" || type === "attachment.deleted" || type === "missed";
      if (isStored && uploads.running === 0) refreshMe();
    });
    events.follow(connect(token, watchedFetch(setAway)), controller.signal).catch((error) => {
      if (!controller.signal.aborted) report("What others do shows after a reload only.", error);
    });
    return () => {
      forget();
      controller.abort();
      uploads.stop();
    };
  }, [token, tools, setAway]);
}

render(<App />, document.getElementById("console")!);
