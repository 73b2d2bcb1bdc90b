import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { explain, isCode, isRefused } from "../failures.ts";
import { plain } from "../people/known-people.ts";
import { findProvider, leaveForProvider } from "./arrival.ts";
import { type SignedInUser, signIn } from "./copy.ts";
import { keepAccess } from "./kept-session.ts";
import { connect } from "./session.ts";

export function SignIn(props: {
  reason: string;
  /** The unsent text of a session that ended. */
  unsent: readonly string[];
  onSignedIn: (user: SignedInUser) => void;
}) {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState(props.reason);
  const provider = useProvider();
  const field = useRef<HTMLInputElement>(null);
  // Browsers ignore the attribute `autofocus` once anything had the focus.
  useLayoutEffect(() => field.current!.focus(), []);
  const leave = async () => {
    setBusy(true);
    setFailure("");
    try {
      await leaveForProvider();
    } catch (error) {
      setFailure(explain(error));
      setBusy(false);
    }
  };
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget as HTMLFormElement);
    const token = String(fields.get("token")).trim();
    // Tokens have only these characters. A header cannot carry others.
    if (!/^[\x21-\x7e]+$/.test(token)) return setFailure("Paste the whole token, without spaces in it.");
    setBusy(true);
    setFailure("");
    try {
      await connect(token).me();
      props.onSignedIn(await signIn(fields.has("shared") ? token : await keepAccess(token)));
    } catch (error) {
      setFailure(
        isRefused(error) && !isCode(error, "user_paused")
          ? `The server does not accept this token. ${explain(error)}`
          : explain(error),
      );
      setBusy(false);
    }
  };
  return (
    <main class="sign-in">
      <form class="sign-in-card" onSubmit={submit}>
        <Mark />
        <h1>Sign in to Parley</h1>
        {provider && (
          <button type="button" class="button primary" disabled={busy} onClick={leave}>
            Sign in with {provider}
          </button>
        )}
        <p class="muted">
          Use the access token that the first start printed, or create one with{" "}
          <code>parley token create NAME</code>.
        </p>
        <label class="labelled">
          Access token
          <input
            class="field"
            type="password"
            name="token"
            placeholder="parley_…"
            autocomplete="off"
            spellcheck={false}
            required
            ref={field}
            aria-describedby="sign-in-failure"
          />
        </label>
        <p id="sign-in-failure" class="failure" role="alert">
          {failure}
        </p>
        <label class="check">
          <input type="checkbox" name="shared" />
          Shared computer: sign out when this tab is closed or reloaded
        </label>
        <Unsent all={props.unsent} />
        <button type="submit" class={provider ? "button" : "button primary"} disabled={busy}>
          {busy ? "Signing in…" : "Sign in"}
        </button>
      </form>
    </main>
  );
}

/** Asks before a link signs in. */
export function LinkQuestion(props: { username: string; onSignIn: () => void; onDecline: () => void }) {
  return (
    <main class="sign-in">
      <div class="sign-in-card">
        <Mark />
        <h1>Sign in as {plain(props.username)}?</h1>
        <p class="muted">
          Continue only if you created this link. A link from somebody else signs you in to their account:
          they can read all that you write and upload there.
        </p>
        <button type="button" class="button primary" onClick={props.onSignIn}>
          Sign in
        </button>
        <button type="button" class="button" onClick={props.onDecline}>
          Cancel
        </button>
      </div>
    </main>
  );
}

/** Returns the host of the identity provider; undefined if the server offers none. */
function useProvider(): string | undefined {
  const [issuer, setIssuer] = useState<string | null>(null);
  useEffect(() => {
    findProvider().then(setIssuer, () => {});
  }, []);
  return issuer === null ? undefined : new URL(issuer).host;
}

function Unsent({ all }: { all: readonly string[] }) {
  if (all.length === 0) return null;
  return (
    <section class="unsent" aria-labelledby="unsent">
      <h2 id="unsent">Not sent</h2>
      <ul tabIndex={0} aria-labelledby="unsent">
        {all.map((each, at) => (
          <li key={at}>{each}</li>
        ))}
      </ul>
      <p class="muted small">
        Sign in again to send the messages. Choose again the files that you were uploading.
      </p>
    </section>
  );
}

export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="9" />
      <path d="M9 24V10.5A2.5 2.5 0 0 1 11.5 8H17a5.5 5.5 0 0 1 0 11h-4" />
      <circle cx="22.5" cy="23" r="2" />
    </svg>
  );
}
