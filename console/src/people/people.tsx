import { useState } from "preact/hooks";
import type { Message } from "../../../packages/parley-client/src/index.ts";
import type { SyncMessage } from "../../../packages/parley-sync/src/index.ts";
import { HERE, useSession } from "../session/session.ts";
import { counted, initials, toHue } from "../ui/format.ts";
import { useWatched } from "../ui/use-redraw.ts";
import { type Face, type KnownPeople, type Person, toHandle } from "./known-people.ts";

/** Returns how people are shown, and renders again when that changes. */
export function usePeople(): KnownPeople {
  const { people } = useSession();
  useWatched(people);
  return people;
}

/** Returns what distinguishes contacts of the same name. */
export function toContactHint(person: Person): string {
  return toHandle(person) || (person.contact?.phone_number ?? "");
}

/** Returns a message in one line. */
export function toOneLine(message: Pick<Message, "text" | "attachments"> & Partial<SyncMessage>): string {
  const { text, attachments, files = [] } = message;
  if (text !== null) return text;
  const all = files.length > 0 ? files : attachments;
  if (all.length === 0) return "App data";
  return all.length === 1 ? all[0]!.filename : counted(all.length, "file", "files");
}

/** The picture of a person, or initials on a colour. */
export function Avatar({ name, seed, picture, isGroup, size }: Face & { size?: "small" | "large" }) {
  const classes = `avatar${isGroup ? " group" : ""}${size ? ` ${size}-avatar` : ""}`;
  return (
    <span class={classes} style={toHueStyle(seed)} aria-hidden="true">
      {initials(name)}
      {picture && <StoredPicture key={picture} url={HERE + picture} />}
    </span>
  );
}

/** The width of previews, which cover the largest avatar on any screen. */
const WIDTH = 320;

/** Covers the initials. A server without previews has the original only, and a replaced picture is gone. */
function StoredPicture({ url }: { url: string }) {
  const [failures, setFailures] = useState(0);
  const address = [`${url}?width=${WIDTH}`, url][failures];
  if (!address) return null;
  return <img src={address} alt="" decoding="async" onError={() => setFailures(failures + 1)} />;
}

/** Returns the style that gives an element the colour of a person or group. */
export function toHueStyle(seed: string | undefined): Record<string, number> {
  return seed === undefined ? {} : { "--hue": toHue(seed) };
}
