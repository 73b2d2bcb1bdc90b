// The administration: navigation between its sections, and the section that the URL names.
import { useEffect, useMemo } from "preact/hooks";
import { toUnreadPrefix } from "../notifications/unread-mark.ts";
import { visible } from "../people/known-people.ts";
import { useSession } from "../session/session.ts";
import { Mark } from "../session/sign-in.tsx";
import { Icon, IconButton, type IconName } from "../ui/icons.tsx";
import { AuditPage } from "./audit-page.tsx";
import { DirectoryContext, UserDirectory } from "./directory.tsx";
import { MetricsFeed } from "./metrics-feed.ts";
import { Overview } from "./overview.tsx";
import { isAdminAlone, parsePlace } from "./places.ts";
import { TokensPage } from "./tokens-page.tsx";
import { UserPage } from "./user-page.tsx";
import { UsersPage } from "./users-page.tsx";
import { WebhookPage } from "./webhook-page.tsx";
import { WebhooksPage } from "./webhooks-page.tsx";
import "./admin.css";
import "./figures.css";
import "./forms.css";
import "./table.css";

interface Section {
  path: string;
  label: string;
  icon: IconName;
}

const CONVERSATIONS = "#";

const SECTIONS: readonly Section[] = [
  { path: "", label: "Overview", icon: "gauge" },
  { path: "users", label: "Users", icon: "people" },
  { path: "tokens", label: "Tokens", icon: "key" },
  { path: "webhooks", label: "Webhooks", icon: "hook" },
  { path: "audit", label: "Audit trail", icon: "trail" },
];

export function Administration({ place }: { place: string }) {
  const { parley, me, endIfRefused } = useSession();
  const directory = useMemo(() => new UserDirectory(parley), [parley]);
  const feed = useMemo(() => new MetricsFeed(parley, endIfRefused), [parley, endIfRefused]);
  const { section } = parsePlace(place);
  const label = SECTIONS.find(({ path }) => path === section)?.label ?? "Overview";
  useEffect(() => {
    document.title = `${toUnreadPrefix(me.unread_conversations)}${label} · Administration · Parley`;
  }, [label, me.unread_conversations]);
  return (
    <DirectoryContext.Provider value={directory}>
      <div class="admin">
        <Sections current={section} />
        <main class="admin-main">
          <div class="admin-page" key={place}>
            <Page place={place} feed={feed} />
          </div>
        </main>
      </div>
    </DirectoryContext.Provider>
  );
}

function Page({ place, feed }: { place: string; feed: MetricsFeed }) {
  const { section, id } = parsePlace(place);
  if (section === "users") return id ? <UserPage id={id} /> : <UsersPage />;
  if (section === "tokens") return <TokensPage />;
  if (section === "webhooks") return id ? <WebhookPage id={id} /> : <WebhooksPage />;
  if (section === "audit") return <AuditPage />;
  return <Overview feed={feed} />;
}

function Sections({ current }: { current: string }) {
  const { me, signOut } = useSession();
  return (
    <nav class="admin-nav" aria-label="Administration">
      <p class="admin-brand">
        <Mark />
        <span>Administration</span>
      </p>
      <ul class="admin-sections">
        {SECTIONS.map(({ path, label, icon }) => (
          <li key={path}>
            <a
              href={path === "" ? "#admin" : `#admin/${path}`}
              aria-current={path === current ? "page" : undefined}
            >
              <Icon name={icon} />
              <span>{label}</span>
            </a>
          </li>
        ))}
      </ul>
      {isAdminAlone(me.scopes) ? (
        <div class="admin-foot">
          <span class="ellipsis muted small">{visible(me.display_name) || me.username}</span>
          <IconButton icon="signOut" label="Sign out" onClick={() => signOut()} />
        </div>
      ) : (
        <a class="admin-foot" href={CONVERSATIONS}>
          <Icon name="back" />
          <span>Conversations</span>
        </a>
      )}
    </nav>
  );
}
