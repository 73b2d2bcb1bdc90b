// Revokes leaked tokens, found in any pasted text, such as a line of a log: no list shows the secrets of tokens.
import { useState } from "preact/hooks";
import type { Token } from "../../../packages/parley-client/src/index.ts";
import { explain, isGone } from "../failures.ts";
import { useSession } from "../session/session.ts";
import { Dialog, FormButtons } from "../ui/dialog.tsx";
import { counted } from "../ui/format.ts";
import type { Pages } from "../ui/use-pages.ts";
import { RevokeToken } from "./token-table.tsx";

const SECRET = /parley_[A-Za-z0-9_-]{43}/g;
/** A signed token. */
const JWT = /eyJ[\w-]+\.[\w-]+\.[\w-]+/;
/** How many tokens of one text to look up. */
const MAX_SECRETS = 20;

/** A button to find leaked tokens. Asks for each whether to revoke it. `pages`: the list that shows them. */
export function RevokeLeaked({ pages }: { pages?: Pages<Token> }) {
  const [isFinding, setFinding] = useState(false);
  const [[leaked, ...others], setLeaked] = useState<readonly Token[]>([]);
  return (
    <>
      <button type="button" class="button" onClick={() => setFinding(true)}>
        Revoke a leaked token
      </button>
      {isFinding && (
        <FindTokens
          onFound={(tokens) => {
            setFinding(false);
            setLeaked(tokens);
          }}
          onClose={() => setFinding(false)}
        />
      )}
      {leaked && (
        <RevokeToken
          key={leaked.id}
          token={leaked}
          pages={pages}
          isLeaked
          onClose={() => setLeaked(others)}
        />
      )}
    </>
  );
}

/** Says how many tokens of a text are not offered to be revoked. */
function explainOthers(unknown: number, more: number): string {
  const parts = [
    unknown > 0 &&
      `${counted(unknown, "token", "tokens")} of the text cannot be used: unknown or already revoked.`,
    more > 0 &&
      `${counted(more, "token was", "tokens were")} not looked up. Paste the rest of the text again.`,
  ];
  return parts.filter(Boolean).join(" ");
}

function FindTokens(props: { onFound: (tokens: Token[]) => void; onClose: () => void }) {
  const { parley, report, endIfRefused } = useSession();
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState("");
  const find = async (text: string) => {
    const all = [...new Set(text.match(SECRET))];
    const secrets = all.slice(0, MAX_SECRETS);
    const more = all.length - secrets.length;
    if (secrets.length === 0) {
      const isSigned = JWT.test(text);
      return setFailure(
        isSigned
          ? "Your identity provider has issued this token. Revoke it there."
          : "There is no token in this text. Tokens begin with parley_ and have 50 characters.",
      );
    }
    setBusy(true);
    try {
      const found = await Promise.all(
        secrets.map((secret) =>
          parley.tokens.find(secret).catch((error) => {
            if (!isGone(error)) throw error;
          }),
        ),
      );
      const tokens = found.filter((token) => token !== undefined);
      const unknown = secrets.length - tokens.length;
      if (tokens.length > 0) {
        if (unknown + more > 0) report(explainOthers(unknown, more));
        return props.onFound(tokens);
      }
      setFailure(
        all.length === 1
          ? "This token cannot be used: it is unknown or already revoked."
          : explainOthers(unknown, more),
      );
    } catch (error) {
      setFailure(explain(error));
      endIfRefused(error);
    }
    setBusy(false);
  };
  return (
    <Dialog title="Revoke a leaked token" onClose={props.onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void find(String(new FormData(event.currentTarget).get("text")));
        }}
      >
        <label class="labelled">
          Token
          <textarea
            class="field"
            name="text"
            rows={4}
            required
            autofocus
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => {
              if (event.inputType === "insertFromPaste") void find(event.currentTarget.value);
            }}
          />
          <span class="muted small">
            Paste the token, or any text that contains it. Nothing is revoked before you confirm.
          </span>
        </label>
        <p class="failure" role="alert">
          {failure}
        </p>
        <FormButtons submit="Find" isBusy={isBusy} onClose={props.onClose} />
      </form>
    </Dialog>
  );
}
