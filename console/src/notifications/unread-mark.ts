// Shows unread conversations on the icon of the tab and of the installed app.
import { useEffect } from "preact/hooks";

const ICON = new URL("../icon.svg", import.meta.url).href;
const UNREAD_ICON = new URL("../icon-unread.svg", import.meta.url).href;

export function useUnreadMark(count: number): void {
  useEffect(() => showCount(count), [count]);
  useEffect(() => () => showCount(0), []);
}

/** Returns the prefix of titles while conversations are unread. */
export function toUnreadPrefix(count: number): string {
  return count > 0 ? `(${count > 99 ? "99+" : count}) ` : "";
}

function showCount(count: number): void {
  document.querySelector<HTMLLinkElement>("link[rel=icon]")!.href = count > 0 ? UNREAD_ICON : ICON;
  // Unsupported in some browsers; others refuse unless the console is installed.
  navigator.setAppBadge?.(count).catch(() => {});
}
