// A user: their data, tokens, webhooks and audit entries, and the button that erases them.
import { useState } from "preact/hooks";
import type { Page, Parley, User, Webhook } from "../../../packages/parley-client/src/index.ts";
import { visible } from "../people/known-people.ts";
import { useSession } from "../session/session.ts";
import { Icon } from "../ui/icons.tsx";
import { PageFailure, Reading } from "../ui/page-notes.tsx";
import { usePages } from "../ui/use-pages.ts";
import { useTrail } from "./audit-pages.ts";
import { TrailTable } from "./audit-table.tsx";
import { EditUser } from "./edit-user.tsx";
import { EraseUser } from "./erase-user.tsx";
import { CopyButton, Empty, Facts, More, PageHead, Time } from "./parts.tsx";
import { PauseUser } from "./pause-user.tsx";
import { toAuditPlace } from "./places.ts";
import { StorageUse } from "./storage-use.tsx";
import { useOne } from "./use-one.ts";
import { UserFiles, UserGroups } from "./user-lists.tsx";
import { UserTokens } from "./user-tokens.tsx";
import { LastSeen } from "./users-page.tsx";
import { useHookStates, WebhookTable } from "./webhook-table.tsx";

const BACK = { href: "#admin/users", label: "Users" };

export function UserPage({ id }: { id: string }) {
  const { parley } = useSession();
  const { item, failure, isMissing, retry, change } = useOne<User>(id, (signal) =>
    parley.users.retrieve(id, { signal }),
  );
  if (isMissing) {
    return (
      <>
        <PageHead title="Erased user" back={BACK} />
        <Empty icon="people" title="This user does not exist" text="They may have been erased.">
          <a class="button" href={toAuditPlace({ about: id })}>
            Look in the audit trail
          </a>
        </Empty>
      </>
    );
  }
  if (item) return <Loaded user={item} onChange={change} />;
  return failure ? <PageFailure pages={{ failure, retry }} /> : <Reading />;
}

function Loaded({ user, onChange }: { user: User; onChange: (user: User) => void }) {
  const { me } = useSession();
  const [isEditing, setEditing] = useState(false);
  const [isErasing, setErasing] = useState(false);
  const name = visible(user.display_name);
  return (
    <>
      <PageHead title={user.username} back={BACK}>
        {me.id !== user.id && <PauseUser user={user} onChange={onChange} />}
        <button type="button" class="button" onClick={() => setEditing(true)}>
          <Icon name="edit" />
          Change
        </button>
      </PageHead>
      <Facts
        facts={[
          ...(user.paused_at === null
            ? []
            : [["Paused", <Time key="paused" seconds={user.paused_at} />] as const]),
          ...(name ? [["Display name", name] as const] : []),
          ["Phone number", user.phone_number ?? <span class="muted">None</span>],
          ...(user.message_limit === null
            ? []
            : [["Messages per minute", user.message_limit || "No limit"] as const]),
          ["Storage", <StorageUse key="storage" {...user.storage} />],
          ["Last seen", <LastSeen key="seen" at={user.last_active_at} />],
          ["Created", <Time key="created" seconds={user.created_at} />],
          [
            "Id",
            <span key="id" class="copyable">
              <code>{user.id}</code>
              <CopyButton text={user.id} what="User id" />
            </span>,
          ],
        ]}
      />
      <UserTokens user={user} />
      {me.scopes.includes("events:read") && <UserWebhooks user={user} />}
      <UserFiles user={user} />
      <UserGroups user={user} />
      <UserTrail user={user} />
      <section class="admin-section danger-zone" aria-labelledby="erase">
        <div>
          <h2 id="erase">Erase this user</h2>
          <p class="muted">Erases their data and revokes their tokens. You can't undo this.</p>
        </div>
        <button type="button" class="button danger" onClick={() => setErasing(true)}>
          <Icon name="trash" />
          Erase user
        </button>
      </section>
      {isEditing && <EditUser user={user} onChange={onChange} onClose={() => setEditing(false)} />}
      {isErasing && <EraseUser user={user} onClose={() => setErasing(false)} />}
    </>
  );
}

/** The API has no list of one user's webhooks, so filter the list of all. */
async function listHooksOf(parley: Parley, userId: string, signal: AbortSignal): Promise<Page<Webhook>> {
  const data: Webhook[] = [];
  for await (const hook of parley.webhooks.list({ all: true }, { signal }))
    if (hook.user_id === userId) data.push(hook);
  return { data, has_more: false };
}

function UserWebhooks({ user }: { user: User }) {
  const { parley } = useSession();
  const webhooks = usePages<Webhook>(user.id, (_after, signal) => listHooksOf(parley, user.id, signal));
  const states = useHookStates(webhooks.items);
  return (
    <section class="admin-section" aria-labelledby="user-webhooks">
      <h2 id="user-webhooks">Webhooks</h2>
      {webhooks.items.length > 0 && (
        <WebhookTable label={`Webhooks of ${user.username}`} pages={webhooks} states={states} isOfOne />
      )}
      {webhooks.items.length === 0 && webhooks.current && !webhooks.failure && (
        <p class="muted">No webhooks. Users and your back end create them with the API.</p>
      )}
      <More pages={webhooks} />
    </section>
  );
}

function UserTrail({ user }: { user: User }) {
  const trail = useTrail({ q: user.id });
  return (
    <section class="admin-section" aria-labelledby="user-trail">
      <div class="section-head">
        <h2 id="user-trail">Audit trail</h2>
        <a class="button" href={toAuditPlace({ about: user.username })}>
          Filter and export
        </a>
      </div>
      {trail.items.length > 0 && <TrailTable label={`Audit entries about ${user.username}`} pages={trail} />}
      {trail.items.length === 0 && trail.current && !trail.failure && (
        <p class="muted">No entries. Parley keeps entries for a limited time.</p>
      )}
      <More pages={trail} />
    </section>
  );
}
