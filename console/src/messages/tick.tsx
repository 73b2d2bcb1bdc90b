import { Icon } from "../ui/icons.tsx";

const TICKS = {
  waiting: ["clock", "Waiting to be sent"],
  held: ["clock", "Not received yet"],
  /** The server has it. No answer says when a device of the contact does. */
  sent: ["check", "Sent"],
  read: ["checks", "Read"],
} as const;

/** How far a message of the user has come. */
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
