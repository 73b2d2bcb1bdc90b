// The theme: as the system has it, or as chosen for this browser.
import { browserStore } from "./storage.ts";

const KEY = "parley-theme";

export const THEMES = [
  ["system", "System"],
  ["light", "Light"],
  ["dark", "Dark"],
] as const;
type Theme = (typeof THEMES)[number][0];

export function readTheme(): Theme {
  const kept = browserStore.get(KEY);
  return kept === "light" || kept === "dark" ? kept : "system";
}

export function chooseTheme(theme: Theme): void {
  if (theme === "system") browserStore.remove(KEY);
  else browserStore.set(KEY, theme);
  applyTheme();
}

export function applyTheme(): void {
  const theme = readTheme();
  document.documentElement.dataset.theme = theme;
  // Gives the browser's frame the colour of the page.
  for (const meta of document.querySelectorAll<HTMLMetaElement>("meta[name=theme-color]")) {
    const own = meta.dataset.of;
    meta.media = theme === "system" ? `(prefers-color-scheme: ${own})` : theme === own ? "all" : "not all";
  }
}
