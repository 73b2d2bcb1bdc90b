import { render } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Me, Parley } from "../../client/src/index.ts";
import { explain, isAborted, isRefused } from "./failures.ts";
import { EventHub } from "./live.ts";
import { connect, keepToken, keptToken, type Session, SessionContext } from "./session.ts";
import { SignIn } from "./sign-in.tsx";
import { Toasts, useToasts } from "./toasts.tsx";
import { Uploads } from "./uploads.ts";
import { Workspace } from "./workspace.tsx";
import "./base.css";
import "./layout.css";
import "./files.css";
import "./overlays.css";

type Phase = { at: "starting" } | { at: "out"; reason: string } | { at: "in"; parley: Parley; me: Me };

function App() {
  const [phase, setPhase] = useState<Phase>(keptToken() ? { at: "starting" } : { at: "out", reason: "" });
  useLayoutEffect(() => {
    const token = keptToken();
    if (token === null) return;
    const parley = connect(token);
    parley
      .me()
      .then((me) => setPhase({ at: "in", parley, me }))
      .catch((error) => {
        if (isRefused(error)) keepToken(null);
        setPhase({ at: "out", reason: explain(error) });
      });
  }, []);
  const signOut = useCallback((reason = "") => {
    keepToken(null);
    history.replaceState(null, "", location.pathname);
    setPhase({ at: "out", reason });
  }, []);
  if (phase.at === "starting") return null;
  if (phase.at === "in") return <SignedIn parley={phase.parley} me={phase.me} signOut={signOut} />;
  return <SignIn reason={phase.reason} onSignedIn={(parley, me) => setPhase({ at: "in", parley, me })} />;
}

function SignedIn(props: { parley: Parley; me: Me; signOut: (reason?: string) => void }) {
  const { parley, signOut } = props;
  const [me, setMe] = useState(props.me);
  const { toasts, add, dismiss } = useToasts();
  const tools = useMemo(() => {
    const say = (text: string) => add(text, false);
    const endIfRefused = (error: unknown) => {
      if (isRefused(error)) signOut(`You were signed out. ${explain(error)}`);
    };
    const report = (doing: string, error: unknown) => {
      if (isRefused(error)) endIfRefused(error);
      else if (!isAborted(error)) add(`${doing} ${explain(error)}`, true);
    };
    const refreshMe = () => void parley.me().then(setMe, endIfRefused);
    const events = new EventHub();
    const uploads = new Uploads(parley, {
      maxFileSize: props.me.limits.max_file_size,
      done: (payload) => {
        events.tell({ type: "attachment.created", payload });
        refreshMe();
      },
      refused: endIfRefused,
    });
    return { parley, events, uploads, refreshMe, say, report, endIfRefused, signOut };
  }, [parley, signOut, add, props.me]);
  useLive(tools);
  const session = useMemo<Session>(() => ({ ...tools, me }), [tools, me]);
  return (
    <SessionContext.Provider value={session}>
      <Workspace />
      <Toasts toasts={toasts} onDismiss={dismiss} />
    </SessionContext.Provider>
  );
}

/** Follows the events as long as somebody is signed in, and ends what is under way with it. */
function useLive(tools: Omit<Session, "me">): void {
  const latest = useRef(tools);
  useEffect(() => {
    const { events, parley, uploads, report } = latest.current;
    const controller = new AbortController();
    events.follow(parley, controller.signal).catch((error) => {
      if (!controller.signal.aborted) report("What others do shows after a reload only.", error);
    });
    return () => {
      controller.abort();
      uploads.stop();
    };
  }, []);
}

render(<App />, document.getElementById("console")!);
