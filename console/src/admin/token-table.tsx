// A table of tokens, which can be revoked.
import { useState } from "preact/hooks";
import type { Token } from "../../../packages/parley-client/src/index.ts";
import { isGone } from "../failures.ts";
import { visible } from "../people/known-people.ts";
import { useSession } from "../session/session.ts";
import { ConfirmDialog } from "../ui/dialog.tsx";
import type { Pages } from "../ui/use-pages.ts";
import { UserLink, useDirectory } from "./directory.tsx";
import { Badge, Time } from "./parts.tsx";
import { toAuditPlace } from "./places.ts";
import { describeScopes } from "./scopes.ts";
import { type Column, Table } from "./table.tsx";

function toTokenName({ name }: Pick<Token, "name">): string {
  return visible(name) || "Unnamed";
}

export function TokenTable(props: {
  label: string;
  pages: Pages<Token>;
  /** Whether all tokens are of the user whose page is open. */
  isOfOne?: boolean;
}) {
  const { pages } = props;
  const { me } = useSession();
  const [revoking, setRevoking] = useState<Token>();
  const columns: Column<Token>[] = [
    {
      label: "Token",
      kind: "name",
      cell: (token) => (
        <span class="token-name">
          {toTokenName(token)} {token.id === me.token_id && <Badge tone="plain">This session</Badge>}
        </span>
      ),
    },
    ...(props.isOfOne ? [] : [{ label: "User", cell: ({ user_id }: Token) => <UserLink id={user_id} /> }]),
    { label: "Scopes", cell: ({ scopes }) => <Scopes scopes={scopes} /> },
    { label: "Created", kind: "minor", cell: ({ created_at }) => <Time seconds={created_at} /> },
    {
      label: "Last used",
      cell: ({ last_used_at: at }) =>
        at === null ? <span class="muted">Never</span> : <Time seconds={at} />,
    },
    { label: "Expires", cell: ({ expires_at: at }) => <Expiry at={at} /> },
    {
      label: "Actions",
      kind: "actions",
      cell: (token) => (
        <span class="row-actions">
          <a
            class="button small-button"
            href={toAuditPlace({ about: token.id })}
            aria-label={`Activity of ${toTokenName(token)}`}
          >
            Activity
          </a>
          <button
            type="button"
            class="button small-button"
            aria-label={`Revoke ${toTokenName(token)}`}
            onClick={() => setRevoking(token)}
          >
            Revoke
          </button>
        </span>
      ),
    },
  ];
  return (
    <>
      <Table label={props.label} columns={columns} items={pages.items} isBusy={!pages.current} />
      {revoking && <RevokeToken token={revoking} pages={pages} onClose={() => setRevoking(undefined)} />}
    </>
  );
}

function Scopes({ scopes }: { scopes: readonly string[] }) {
  return (
    <span class="small">
      {describeScopes(scopes)} {scopes.includes("admin") && <Badge tone="warn">Administrator</Badge>}
    </span>
  );
}

function Expiry({ at }: { at: number | null }) {
  if (at === null) return <span class="muted">Never</span>;
  if (at <= Date.now() / 1000) return <Badge tone="plain">Expired</Badge>;
  return <Time seconds={at} />;
}

export function RevokeToken(props: {
  token: Token;
  pages: Pages<Token> | undefined;
  isLeaked?: boolean;
  onClose: () => void;
}) {
  const { token, pages, onClose } = props;
  const { parley, me, say, report, refreshMe } = useSession();
  const owner = useDirectory().find(token.user_id)?.username ?? "its user";
  const isOwn = token.id === me.token_id;
  const revoke = async () => {
    try {
      await parley.tokens.delete(token.id);
    } catch (error) {
      if (!isGone(error)) return report(`${toTokenName(token)} was not revoked.`, error);
    }
    // The server now refuses the session, which ends it.
    if (isOwn) return refreshMe();
    pages?.edit((items) => items.filter(({ id }) => id !== token.id));
    const activity = { href: toAuditPlace({ about: token.id }), label: "See what it did" };
    say(`${toTokenName(token)} was revoked.`, props.isLeaked ? activity : undefined);
  };
  const text = isOwn
    ? "You are signed in with this token: revoking it signs you out. Make sure that you have another token with the scope admin."
    : `Requests with this token of ${owner} are refused from now on. Push notifications that were turned on with it end. You can't undo this.`;
  return (
    <ConfirmDialog
      title={`Revoke “${toTokenName(token)}”?`}
      text={text}
      action={isOwn ? "Revoke and sign out" : "Revoke"}
      onConfirm={revoke}
      onClose={onClose}
    />
  );
}
