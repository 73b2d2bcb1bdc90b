// Notifications of the browser while a window is open and the user looks elsewhere. Each user turns them on per
// browser. Others may see the screen, so they name nobody.
import type { Change } from "../session/changes.ts";
import { browserStore } from "../session/storage.ts";

/** Who turned it on in this browser. */
const KEY = "parley-notify";
const TITLE = "Parley";
/** A new notification replaces the previous one, also that of another window. */
const TAG = "parley";

export class Notifier {
  #userId: string;
  #isPushed: () => boolean;
  #shown: Notification | undefined;
  /** The conversations that the notification is about. */
  #about = new Set<string>();

  /** `isPushed`: whether this browser also gets messages by push. */
  constructor(userId: string, isPushed: () => boolean) {
    this.#userId = userId;
    this.#isPushed = isPushed;
  }

  /** Whether the browser supports notifications on this page. */
  get isPossible(): boolean {
    return isSecureContext && "Notification" in globalThis;
  }

  get isOn(): boolean {
    const isChosen = browserStore.get(KEY) === this.#userId;
    return isChosen && this.isPossible && Notification.permission === "granted";
  }

  /** Throws if the user or the browser does not allow it. */
  async turnOn(): Promise<void> {
    if ((await Notification.requestPermission()) !== "granted")
      throw new Error("The browser does not allow them for this page.");
    // Some browsers grant the permission and then refuse notifications from a page.
    this.#show("Notifications are on.");
    browserStore.set(KEY, this.#userId);
  }

  turnOff(): void {
    browserStore.remove(KEY);
    this.clear();
  }

  hear(change: Change): void {
    const isAlert = change.type === "message.created" || change.type === "message.mentioned";
    if (isAlert && "notify" in change && change.notify) {
      if (!this.isOn || this.#isPushed() || (!document.hidden && document.hasFocus())) return;
      this.#about.add(change.payload.conversation_id);
      this.#show("You have a new message.");
    } else if (change.type === "conversation.updated" && change.payload.unread_count === 0) {
      // The conversation was read, here or elsewhere.
      if (this.#about.delete(change.payload.id) && this.#about.size === 0) this.clear();
    }
  }

  clear(): void {
    this.#about.clear();
    this.#shown?.close();
  }

  #show(body: string): void {
    const shown = new Notification(TITLE, { body, tag: TAG });
    shown.onclick = () => {
      focus();
      shown.close();
    };
    this.#shown = shown;
  }
}
