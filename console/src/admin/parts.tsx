// Small parts that the pages of the administration share.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { useSession } from "../session/session.ts";
import { formatFullTime, formatTime } from "../ui/format.ts";
import { Icon, IconButton, type IconName } from "../ui/icons.tsx";
import { PageFailure, Reading } from "../ui/page-notes.tsx";
import { useInterval } from "../ui/use-interval.ts";
import type { Pages } from "../ui/use-pages.ts";

/** The title of a page and its actions. Takes the focus if the link that led here is gone. */
export function PageHead(props: {
  title: string;
  /** The list that the page belongs to. */
  back?: { href: string; label: string };
  children?: ComponentChildren;
}) {
  const title = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => {
    if (document.activeElement === document.body) title.current!.focus({ preventScroll: true });
  }, []);
  return (
    <header class="page-head">
      <div class="page-title">
        {props.back && (
          <a class="back-link" href={props.back.href}>
            <Icon name="back" />
            {props.back.label}
          </a>
        )}
        <h1 ref={title} tabIndex={-1}>
          {props.title}
        </h1>
      </div>
      {props.children && <div class="page-actions">{props.children}</div>}
    </header>
  );
}

export function Time({ seconds }: { seconds: number }) {
  return (
    <time dateTime={new Date(seconds * 1000).toISOString()} title={formatFullTime(seconds)}>
      {formatTime(seconds)}
    </time>
  );
}

export type Tone = "good" | "bad" | "warn" | "plain";

export function Badge({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

/** Shown in place of an empty list. */
export function Empty(props: { icon: IconName; title: string; text: string; children?: ComponentChildren }) {
  return (
    <div class="empty" role="status">
      <span class="empty-art">
        <Icon name={props.icon} />
      </span>
      <h2>{props.title}</h2>
      <p class="muted">{props.text}</p>
      {props.children}
    </div>
  );
}

/** The end of a list: that it is loading, why it failed, or a button for the next page. */
export function More({ pages }: { pages: Omit<Pages<unknown>, "edit"> }) {
  if (pages.failure) return <PageFailure pages={pages} />;
  if (pages.loading && !(pages.current && pages.hasMore)) return <Reading />;
  if (!pages.hasMore) return null;
  return (
    <button type="button" class="button more" disabled={pages.loading} onClick={pages.more}>
      {pages.loading ? "Loading…" : "Show more"}
    </button>
  );
}

/** Names and values, such as the facts about a user. */
export function Facts({ facts }: { facts: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="fact-list">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A button that copies a text. `what` names the text in the label and in the notice. */
export function CopyButton(props: { text: string; what: string; onCopied?: () => void }) {
  const { say, report } = useSession();
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(props.text);
      say(`${props.what} copied.`);
      props.onCopied?.();
    } catch {
      report(`${props.what} not copied.`, new Error("The browser allows that only on https pages."));
    }
  };
  return <IconButton icon="copy" label={`Copy ${props.what.toLowerCase()}`} onClick={copy} />;
}

/** Calls a function now, and then periodically while the window is visible. */
export function useVisibleInterval(act: () => void, ms: number): void {
  useEffect(() => {
    if (!document.hidden) act();
  }, [ms]);
  useInterval(act, ms);
}
