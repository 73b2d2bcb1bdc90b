// Line icons on a grid of 24, drawn for this console. They are decorative: each is beside a visible or accessible
// name.

const PATHS = {
  add: "M12 5v14M5 12h14",
  addPerson:
    "M10 5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7ZM3.5 19.500a6.500 6.500 0 0 1 13 0M18.500 8v6M15.500 11h6",
  archive: "M4 5h16v4H4zM5.500 9v10h13V9M10 13h4",
  attach:
    "M19 11.500l-7.500 7.500a4.6 4.6 0 0 1-6.500-6.500l8-8a3 3 0 0 1 4.300 4.300l-7.800 7.800a1.5 1.5 0 0 1-2.100-2.100L14 8",
  audio: "M9 18V6l10-2v12M9 18a3 3 0 1 1-3-3 3 3 0 0 1 3 3Zm10-2a3 3 0 1 1-3-3 3 3 0 0 1 3 3Z",
  back: "M15 5l-7 7 7 7",
  bell: "M6 16.500h12l-1.500-2.500v-4a4.500 4.500 0 0 0-9 0v4zM10.500 19.500h3",
  block: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18ZM5.8 5.800l12.4 12.4",
  check: "M5 12.500l4.5 4.500L19 7.5",
  checks: "M2 12.500l4.500 4.500L16 7.500m-4 8.500l1.500 1L22 7.5",
  clock: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18ZM12 7v5l3.500 2",
  close: "M6 6l12 12M18 6L6 18",
  copy: "M9 9h10v11H9zM15 9V4H5v11h4",
  device: "M7 3h10v18H7zM11 18h2",
  download: "M12 4v11m-4.5-4.500L12 15l4.5-4.500M5 20h14",
  edit: "M4 20l1-4L16 5l3 3L8 19zM14 7l3 3",
  file: "M6 3h8l4 4v14H6zM14 3v4h4",
  gauge: "M4 18a8.500 8.500 0 1 1 16 0M12 15l3.500-5M6.500 18h11",
  grid: "M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z",
  help: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18ZM9.500 9.500a2.500 2.500 0 1 1 3.800 2.100c-.9.5-1.3 1-1.3 1.900M12 16.500h.01",
  hook: "M9 12a3.500 3.500 0 1 0-2.600 3.400H14M10.300 10.200L14 4.500M17.500 12.500a3.500 3.500 0 1 1-2.500 6M12.500 7l4 6",
  image: "M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15.5 9.500h.01",
  key: "M8 9a4 4 0 1 0 0 8 4 4 0 0 0 0-8ZM11 10.500l8-6M16.500 6.500l2.500 3",
  keyboard: "M3 7h18v10H3zM6.500 10h.01M10 10h.01M13.500 10h.01M17.500 10h.01M8 14h8",
  list: "M4 6h.01M4 12h.01M4 18h.01M8 6h12M8 12h12M8 18h12",
  microphone:
    "M12 3a3 3 0 0 0-3 3v5a3 3 0 0 0 6 0V6a3 3 0 0 0-3-3ZM5.500 11a6.500 6.500 0 0 0 13 0M12 17.500V21",
  minus: "M5 12h14",
  more: "M5 11.500v1M12 11.500v1M19 11.500v1M5.500 11.500v1M12.500 11.500v1M19.500 11.500v1",
  muted: "M6 16.500h12l-1.500-2.500v-4a4.500 4.500 0 0 0-9 0v4zM10.500 19.500h3M4 4l16 16",
  next: "M9 5l7 7-7 7",
  notes: "M6 3h12v18H6zM9.5 8h5M9.5 12h5M9.5 16h3",
  people:
    "M9 5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7ZM2.5 19.500a6.5 6.5 0 0 1 13 0M15.500 5.300a3.5 3.5 0 0 1 0 6.400M18 14a6.5 6.5 0 0 1 3.5 5.500",
  pause: "M8.500 5v14M15.500 5v14",
  pdf: "M6 3h8l4 4v14H6zM14 3v4h4M9 17v-4h1.500a1.25 1.25 0 0 1 0 2.500H9",
  pin: "M9 4h6l-1 6 3 3H7l3-3zM12 13v7",
  play: "M8 5l11 7-11 7z",
  down: "M12 5v14m-6-6l6 6 6-6",
  react: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18ZM8.300 14a4.500 4.500 0 0 0 7.400 0M9 9.500h.01M15 9.500h.01",
  reply: "M9 6l-5 5 5 5M4 11h9a7 7 0 0 1 7 7",
  retry: "M19 12a7 7 0 1 1-2.2-5.100M19 4v4h-4",
  send: "M4 12l16-8-6 16-3-7z",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14Zm5 12l4.5 4.5",
  shield: "M12 3l7 3v5c0 4.500-3 8-7 10-4-2-7-5.500-7-10V6z",
  select: "M4 4h16v16H4zM8 12.500l3 3 5.500-6",
  settings: "M4 8h9m5 0h2M4 16h2m5 0h9M15.500 5.500v5M8.500 13.500v5",
  signOut: "M14 4H5v16h9M10 12h10m-3.5-3.500L20 12l-3.5 3.5",
  text: "M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6",
  trail: "M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01",
  trash: "M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13M10 11v5M14 11v5",
  up: "M12 19V5m-6 6l6-6 6 6",
  upload: "M12 16V5M7.5 9.500L12 5l4.5 4.500M5 20h14",
  video: "M4 6h11v12H4zM15 10.500L20 8v8l-5-2.5",
  wrap: "M4 6h16M4 12h13a3 3 0 0 1 0 6h-4m2-2l-2 2 2 2M4 18h5",
};

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** A button with an icon. Its label is for assistive technology and the tooltip. */
export function IconButton(props: { icon: IconName; label: string; onClick: () => void; danger?: boolean }) {
  return (
    <button
      type="button"
      class={props.danger ? "icon-button danger" : "icon-button"}
      aria-label={props.label}
      title={props.label}
      onClick={props.onClick}
    >
      <Icon name={props.icon} />
    </button>
  );
}
