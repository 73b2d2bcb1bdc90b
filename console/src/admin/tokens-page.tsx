// The tokens of all users, or of one user.
import { useState } from "preact/hooks";
import type { Token } from "../../../packages/parley-client/src/index.ts";
import { useSession } from "../session/session.ts";
import { Icon } from "../ui/icons.tsx";
import { usePages } from "../ui/use-pages.ts";
import { CreateToken } from "./create-token.tsx";
import { RevokeLeaked } from "./leaked-token.tsx";
import { Empty, More, PageHead } from "./parts.tsx";
import { TokenTable } from "./token-table.tsx";
import { type Named, UserFilter } from "./user-filter.tsx";

const PAGE = 50;

export function TokensPage() {
  const { parley } = useSession();
  const [{ user, name }, setChosen] = useState<{ user?: Named | null | undefined; name: string }>({
    name: "",
  });
  const [isCreating, setCreating] = useState(false);
  const tokens = usePages<Token>(user?.id ?? "", (after, signal) =>
    parley.tokens.list(
      { limit: PAGE, ...(user && { user_id: user.id }), ...(after && { starting_after: after }) },
      { signal },
    ),
  );
  const isListed = name === "" || (user !== null && user !== undefined);
  const isEmpty = tokens.items.length === 0 && tokens.current && !tokens.failure;
  const create = () => setCreating(true);
  return (
    <>
      <PageHead title="Tokens">
        <RevokeLeaked pages={tokens} />
        <button type="button" class="button primary" onClick={create}>
          <Icon name="add" />
          Create a token
        </button>
      </PageHead>
      <div class="page-tools">
        <UserFilter
          label="User of the tokens"
          placeholder="Tokens of a user"
          onChoose={(user, name) => setChosen({ user, name })}
        />
      </div>
      {isListed && tokens.items.length > 0 && <TokenTable label="Tokens" pages={tokens} />}
      {isEmpty && user && (
        <Empty
          icon="key"
          title={`${user.username} has no tokens`}
          text="Without a token they cannot sign in."
        >
          <button type="button" class="button" onClick={create}>
            Create a token
          </button>
        </Empty>
      )}
      {isListed && <More pages={tokens} />}
      {isCreating && (
        <CreateToken
          user={user ?? undefined}
          onCreated={(token) => tokens.edit((items) => [token, ...items])}
          onClose={() => setCreating(false)}
        />
      )}
    </>
  );
}
