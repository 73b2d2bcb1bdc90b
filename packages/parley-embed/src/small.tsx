// Small parts: icons and avatars.
import { useState } from "preact/hooks";
import { toHue, toInitials } from "./format.ts";
import { useSession } from "./session.ts";

/** Line icons on a grid of 24. */
const PATHS = {
  attach: "M19 11.5l-7.5 7.5a4.6 4.6 0 0 1-6.5-6.5l8-8a3 3 0 0 1 4.3 4.3l-7.8 7.8a1.5 1.5 0 0 1-2.1-2.1L14 8",
  back: "M15 5l-7 7 7 7",
  check: "M5 12.5l4.5 4.5L19 7.5",
  checks: "M2 12.5l4.5 4.5L16 7.5m-4 8.5l1.5 1L22 7.5",
  clock: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18ZM12 7v5l3.5 2",
  close: "M6 6l12 12M18 6L6 18",
  down: "M12 5v14m-6-6l6 6 6-6",
  edit: "M4 20l1-4L16 5l3 3L8 19zM14 7l3 3",
  file: "M6 3h8l4 4v14H6zM14 3v4h4",
  react: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18ZM8.3 14a4.5 4.5 0 0 0 7.4 0M9 9.5h.01M15 9.5h.01",
  reply: "M9 6l-5 5 5 5M4 11h9a7 7 0 0 1 7 7",
  send: "M4 12l16-8-6 16-3-7z",
  talk: "M4 5h16v11H11l-5 4v-4H4z",
  trash: "M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13M10 11v5M14 11v5",
};

/** Icons that point in the direction of the text. */
const MIRRORED = ["back", "reply", "send"];

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class={MIRRORED.includes(name) ? "icon mirrored" : "icon"} viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** A button with an icon. The label is for assistive technology and the tooltip. */
export function IconButton(props: {
  icon: IconName;
  label: string;
  class?: string;
  tabIndex?: number;
  isDisabled?: boolean;
  onClick: () => void;
}) {
  const { icon, label, class: more = "", isDisabled, ...rest } = props;
  return (
    <button
      type="button"
      class={`icon-button ${more}`}
      aria-label={label}
      title={label}
      disabled={isDisabled}
      {...rest}
    >
      <Icon name={icon} />
    </button>
  );
}

/** Matches the path of a picture that a Parley server stores. Others would tell their server who reads what. */
const STORED = /v1\/avatars\/usr_\w+\/avt_\w+$/;

/** The picture of a person or group, or initials on a colour. */
export function Avatar({
  name,
  url,
  isSmall = false,
}: {
  name: string;
  url: string | null;
  isSmall?: boolean;
}) {
  const { server } = useSession();
  const path = STORED.exec(url ?? "")?.[0];
  return (
    <span class={isSmall ? "avatar small" : "avatar"} style={{ "--hue": toHue(name) }} aria-hidden="true">
      {toInitials(name)}
      {path && <Picture key={path} sources={[`${server}${path}?width=320`, `${server}${path}`]} />}
    </span>
  );
}

/** Shows the first address that the browser can load: a server without previews has originals only. */
function Picture({ sources }: { sources: readonly string[] }) {
  const [failures, setFailures] = useState(0);
  const source = sources[failures];
  if (source === undefined) return null;
  return <img src={source} alt="" decoding="async" onError={() => setFailures(failures + 1)} />;
}
