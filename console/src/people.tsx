import type { Contact } from "../../client/src/index.ts";
import { formatFullTime, formatTime, hueOf, initials } from "./format.ts";

/** Marks, letters, anything that leaves something on the screen. */
const VISIBLE = /[^\p{Z}\p{C}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** The name, or nothing where nobody could see it. */
export function visible(name: string | null): string {
  return name !== null && VISIBLE.test(name) ? name : "";
}

export function nameOf(contact: Contact): string {
  return visible(contact.display_name) || contact.username;
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
