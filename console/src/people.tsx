import type { Contact } from "../../client/src/index.ts";
import { formatFullTime, formatTime, hueOf, initials } from "./format.ts";

export function nameOf(contact: Contact): string {
  return contact.display_name || contact.username;
}

export function Avatar({ name }: { name: string }) {
  return (
    <span class={`avatar hue-${hueOf(name)}`} aria-hidden="true">
      {initials(name)}
    </span>
  );
}

const NOW_SECONDS = 180;

/** When the contact was last there, where that may be known. */
export function Presence({ contact }: { contact: Contact }) {
  const seconds = contact.last_active_at;
  if (seconds === null) return null;
  const now = Date.now() / 1000 - seconds < NOW_SECONDS;
  return (
    <span class={now ? "presence now" : "presence"} title={formatFullTime(seconds)}>
      {now ? "Active now" : `Active ${formatTime(seconds)}`}
    </span>
  );
}
