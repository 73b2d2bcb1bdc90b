// Creates a token and shows it once.
import { useState } from "preact/hooks";
import type { IssuedToken, Token } from "../../../packages/parley-client/src/index.ts";
import { explain, LABELS, nameLimit } from "../failures.ts";
import { useSession } from "../session/session.ts";
import { Choice } from "../ui/choice.tsx";
import { Dialog, FormButtons } from "../ui/dialog.tsx";
import { TextField } from "../ui/text-field.tsx";
import { toDay } from "./days.ts";
import { SCOPES } from "./scopes.ts";
import { ShowSecret } from "./show-secret.tsx";
import { findUser, type Named, Suggestions, useSuggestions } from "./user-filter.tsx";

const EXPIRIES = [
  ["never", "Never"],
  ["30", "30 days"],
  ["90", "90 days"],
  ["date", "On a date"],
] as const;
type Expiry = (typeof EXPIRIES)[number][0];

const DAY = 86_400;
const MAX_NAME = 128;

export function CreateToken(props: {
  /** The token's user; if undefined, the dialog asks for the username. */
  user: Named | undefined;
  onCreated: (token: Token) => void;
  onClose: () => void;
}) {
  const [made, setMade] = useState<{ token: IssuedToken; username: string }>();
  if (made) {
    return (
      <ShowSecret
        what="Token"
        secret={made.token.token}
        use={`with it, anyone can act as ${made.username}.`}
        onClose={props.onClose}
      />
    );
  }
  return (
    <TokenForm
      user={props.user}
      onClose={props.onClose}
      onMade={(token, username) => {
        const { token: _secret, ...listed } = token;
        props.onCreated(listed);
        setMade({ token, username });
      }}
    />
  );
}

function TokenForm(props: {
  user: Named | undefined;
  onMade: (token: IssuedToken, username: string) => void;
  onClose: () => void;
}) {
  const { parley, endIfRefused } = useSession();
  const [typed, setTyped] = useState("");
  const [expiry, setExpiry] = useState<Expiry>("never");
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState("");
  const { listId, users } = useSuggestions(typed);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget as HTMLFormElement);
    const scopes = fields.getAll("scope").map(String);
    if (scopes.length === 0) return setFailure("Choose at least one thing that the token may do.");
    const expires_at = toExpiry(expiry, String(fields.get("date")));
    if (expires_at !== null && !(expires_at > Date.now() / 1000))
      return setFailure("Choose a day in the future.");
    setBusy(true);
    try {
      const user = props.user ?? (await findUser(parley, typed.trim()));
      if (user) {
        const name = String(fields.get("name")).trim() || null;
        const token = await parley.tokens.create({
          user_id: user.id,
          scopes: scopes.join(),
          expires_at,
          name,
        });
        return props.onMade(token, user.username);
      }
      setFailure(`No user has the username ${typed.trim()}.`);
    } catch (error) {
      setFailure(explain(nameLimit(error, "This user has too many tokens. Revoke some first.")));
      endIfRefused(error);
    }
    setBusy(false);
  };
  return (
    <Dialog
      title={props.user ? `Create a token for ${props.user.username}` : "Create a token"}
      onClose={props.onClose}
    >
      <form onSubmit={submit}>
        {!props.user && (
          <>
            <TextField
              name="username"
              label={LABELS.username}
              list={listId}
              onInput={setTyped}
              required
              autofocus
            />
            <Suggestions id={listId} users={users} />
          </>
        )}
        <TextField
          name="name"
          label="What it is for"
          hint="Optional, such as “phone” or “back end”"
          maxLength={MAX_NAME}
          autofocus={props.user !== undefined}
        />
        <ScopeChoice />
        <ExpiryChoice expiry={expiry} onChange={setExpiry} />
        <p class="failure" role="alert">
          {failure}
        </p>
        <FormButtons submit="Create" isBusy={isBusy} onClose={props.onClose} />
      </form>
    </Dialog>
  );
}

function ScopeChoice() {
  return (
    <fieldset class="scopes">
      <legend>What it may do</legend>
      {SCOPES.map(([scope, text]) => (
        <label key={scope} class="check scope">
          <input
            type="checkbox"
            name="scope"
            value={scope}
            defaultChecked={scope !== "act_as" && scope !== "admin"}
          />
          <span>
            <span>{text}</span> <code class="muted small">{scope}</code>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

function ExpiryChoice({ expiry, onChange }: { expiry: Expiry; onChange: (expiry: Expiry) => void }) {
  return (
    <div class="expiry">
      <span class="field-label" aria-hidden="true">
        Expires
      </span>
      <Choice legend="Expires" name="expiry" chosen={expiry} choices={EXPIRIES} onChoose={onChange} />
      {expiry === "date" && (
        <input
          class="field"
          type="date"
          name="date"
          aria-label="Last day (UTC)"
          required
          min={toDay(new Date())}
        />
      )}
    </div>
  );
}

/** Returns when the token expires: the end of the day in UTC, in seconds. */
function toExpiry(expiry: Expiry, day: string): number | null {
  if (expiry === "never") return null;
  if (expiry === "date") return Math.floor(Date.parse(`${day}T23:59:59Z`) / 1000);
  return Math.floor(Date.now() / 1000) + Number(expiry) * DAY;
}
