import { InvalidArgumentError } from "commander";

export type End = (exitCode: number) => void;

export const JSON_OPTION = ["--json", "print JSON, one object per line"] as const;
export const LIMIT = ["--limit <n>", "maximum number (default: all)", parseLimit] as const;
export const CONTACT = "username or id of a contact";
export const GROUP = "name or id of a group";
export const MEMBER = "username or id of a member";
export const MESSAGE = "id of the message (msg_…)";
export const CONVERSATION = `${CONTACT}, ${GROUP}, or id of a conversation (cnv_…)`;

export function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}

export function parseLimit(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError("Use a whole number, 1 or more.");
  return Number(text);
}

/** The server checks everything else: these strings would change the path of the URL. */
export function parseEmoji(text: string): string {
  if (/^\.{0,2}$/.test(text)) throw new InvalidArgumentError("Use one visible character, such as 👍.");
  return text;
}
