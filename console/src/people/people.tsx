import type { Contact, Message } from "../../../client/src/index.ts";
import { counted, initials, toHue } from "../ui/format.ts";

/** Matches a visible character. */
const VISIBLE = /[^\p{Z}\p{C}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** Returns the name; empty if it has no visible character. */
export function visible(name: string | null): string {
  return name !== null && VISIBLE.test(name) ? name : "";
}

export function toName(contact: Contact): string {
  return visible(contact.display_name) || contact.username;
}

/** Returns what distinguishes contacts of the same name. */
export function toContactHint(contact: Contact): string {
  return toName(contact) === contact.username ? contact.phone_number : `@${contact.username}`;
}

/** Returns a message in one line. */
export function toOneLine({ text, attachments }: Pick<Message, "text" | "attachments">): string {
  if (text !== null) return text;
  if (attachments.length === 0) return "App data";
  return attachments.length === 1 ? attachments[0]!.filename : counted(attachments.length, "file", "files");
}

/**
 * Initials on a colour. The page loads nothing from other servers, so it shows no pictures. `seed` decides the
 * colour, if that must not change with the name.
 */
export function Avatar(props: {
  name: string;
  seed?: string | undefined;
  isGroup?: boolean;
  size?: "small" | "large";
}) {
  const { name, seed = name, isGroup, size } = props;
  const classes = `avatar${isGroup ? " group" : ""}${size ? ` ${size}-avatar` : ""}`;
  return (
    <span class={classes} style={toHueStyle(seed)} aria-hidden="true">
      {initials(name)}
    </span>
  );
}

/** Returns the style that gives an element the colour of a user or group. */
export function toHueStyle(seed: string): Record<string, number> {
  return { "--hue": toHue(seed) };
}
