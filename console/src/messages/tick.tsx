import { Icon } from "../ui/icons.tsx";

const TICKS = {
  waiting: ["clock", "Waiting to be sent"],
  held: ["clock", "Not received yet"],
  /** The server has the message. The API does not report delivery to devices. */
  sent: ["check", "Sent"],
  read: ["checks", "Read"],
} as const;

/** The progress of a message of the user. */
export type Progress = keyof typeof TICKS;

export function Tick({ progress }: { progress: Progress }) {
  const [icon, label] = TICKS[progress];
  return (
    <span class={progress === "read" ? "tick read" : "tick"} title={label}>
      <Icon name={icon} />
      <span class="visually-hidden">{label}</span>
    </span>
  );
}
