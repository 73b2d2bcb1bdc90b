// Finds a token by its secret, for example one found in a log or a repository: no list shows secrets.
import { useState } from "preact/hooks";
import type { Token } from "../../../packages/parley-client/src/index.ts";
import { explain, isRefused } from "../failures.ts";
import { connect, useSession } from "../session/session.ts";
import { Dialog, FormButtons } from "../ui/dialog.tsx";
import { TextField } from "../ui/text-field.tsx";

export function LeakedToken(props: { onFound: (token: Token) => void; onClose: () => void }) {
  const { parley, endIfRefused } = useSession();
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState("");
  const find = async (event: SubmitEvent) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget as HTMLFormElement);
    setBusy(true);
    try {
      const id = await readId(String(fields.get("token")).trim());
      if (id === null) setFailure("Your identity provider has issued this token. Revoke it there.");
      else if (id === undefined)
        setFailure("This token cannot be used: it is unknown, expired or already revoked.");
      else return props.onFound(await parley.tokens.retrieve(id));
    } catch (error) {
      setFailure(explain(error));
      endIfRefused(error);
    }
    setBusy(false);
  };
  return (
    <Dialog title="Revoke a leaked token" onClose={props.onClose}>
      <form onSubmit={find}>
        <TextField
          name="token"
          label="Token"
          hint="Paste the whole token. Nothing is revoked before you confirm."
          required
          autofocus
        />
        <p class="failure" role="alert">
          {failure}
        </p>
        <FormButtons submit="Find" isBusy={isBusy} onClose={props.onClose} />
      </form>
    </Dialog>
  );
}

/**
 * Returns the id of a token by its secret; null for a signed token (JWT), undefined for one that the server refuses.
 */
async function readId(secret: string): Promise<string | null | undefined> {
  try {
    return (await connect(secret).me()).token_id;
  } catch (error) {
    // `fetch` throws a TypeError for characters that no header can carry.
    if (isRefused(error) || error instanceof TypeError) return undefined;
    throw error;
  }
}
