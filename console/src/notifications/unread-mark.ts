// Unread conversations on the icons of the console: that of its tab, and that of the app if it is installed.
import { useEffect } from "preact/hooks";

const ICON = new URL("../icon.svg", import.meta.url).href;
const UNREAD_ICON = new URL("../icon-unread.svg", import.meta.url).href;

export function useUnreadMark(count: number): void {
  useEffect(() => showCount(count), [count]);
  useEffect(() => () => showCount(0), []);
}

/** Returns how titles begin while conversations are unread. */
export function toUnreadPrefix(count: number): string {
  return count > 0 ? `(${count > 99 ? "99+" : count}) ` : "";
}

function showCount(count: number): void {
  document.querySelector<HTMLLinkElement>("link[rel=icon]")!.href = count > 0 ? UNREAD_ICON : ICON;
  // Not all browsers have it, and some refuse it unless the console is installed.
  navigator.setAppBadge?.(count).catch(() => {});
}
