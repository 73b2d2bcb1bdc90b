// The tokens of the user whose page is open.
import { useState } from "preact/hooks";
import type { Token, User } from "../../../packages/parley-client/src/index.ts";
import { useSession } from "../session/session.ts";
import { Icon } from "../ui/icons.tsx";
import { usePages } from "../ui/use-pages.ts";
import { CreateToken } from "./create-token.tsx";
import { More } from "./parts.tsx";
import { TokenTable } from "./token-table.tsx";

const FEW = 10;

export function UserTokens({ user }: { user: User }) {
  const { parley } = useSession();
  const [isCreating, setCreating] = useState(false);
  const tokens = usePages<Token>(user.id, (after, signal) =>
    parley.tokens.list({ user_id: user.id, limit: FEW, ...(after && { starting_after: after }) }, { signal }),
  );
  return (
    <section class="admin-section" aria-labelledby="user-tokens">
      <div class="section-head">
        <h2 id="user-tokens">Tokens</h2>
        <button type="button" class="button" onClick={() => setCreating(true)}>
          <Icon name="add" />
          Create a token
        </button>
      </div>
      {tokens.items.length > 0 && <TokenTable label={`Tokens of ${user.username}`} pages={tokens} isOfOne />}
      {tokens.items.length === 0 && tokens.current && !tokens.failure && (
        <p class="muted">No tokens. With a token they can sign in here, or your app can act for them.</p>
      )}
      <More pages={tokens} />
      {isCreating && (
        <CreateToken
          user={user}
          onCreated={(token) => tokens.edit((items) => [token, ...items])}
          onClose={() => setCreating(false)}
        />
      )}
    </section>
  );
}
