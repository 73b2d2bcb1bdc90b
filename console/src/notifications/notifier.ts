// Notifications of the browser while a window is open and the user looks at none. Each user turns them on per
// browser. Others may see the screen, so they name nobody, unless the user chooses that.
import type { Message } from "../../../packages/parley-client/src/index.ts";
import type { Change } from "../session/changes.ts";
import { browserStore } from "../session/storage.ts";
import { isAnyLookedAt } from "./attention.ts";

/** Who turned it on in this browser, and after a space whether notifications have names. */
const KEY = "parley-notify";
const WITH_NAMES = "names";
const TITLE = "Parley";
/** Those without names replace each other, also those of other windows. */
const TAG = "parley";

interface Shown {
  notification: Notification;
  /** The conversations that it is about. */
  about: Set<string>;
  messages: number;
}

type Alert = Pick<Message, "conversation_id" | "sender">;

interface Conversations {
  /** Who has sent a message, or to which group. Null if the sender was erased. */
  toName: (message: Alert) => string | null;
  open: (conversationId: string) => void;
}

export class Notifier {
  #userId: string;
  #isPushed: () => boolean;
  #conversations: Conversations;
  /** By tag. */
  #shown = new Map<string, Shown>();

  /** `isPushed`: whether this browser also gets messages by push. */
  constructor(userId: string, isPushed: () => boolean, conversations: Conversations) {
    this.#userId = userId;
    this.#isPushed = isPushed;
    this.#conversations = conversations;
  }

  /** Whether the browser supports notifications on this page. */
  get isPossible(): boolean {
    return isSecureContext && "Notification" in globalThis;
  }

  get isOn(): boolean {
    return this.isPossible && this.#chosen !== undefined && Notification.permission === "granted";
  }

  get hasNames(): boolean {
    return this.#chosen === WITH_NAMES;
  }

  /** Throws if the user or the browser does not allow it. */
  async turnOn(): Promise<void> {
    if ((await Notification.requestPermission()) !== "granted")
      throw new Error("The browser does not allow them for this page.");
    // Some browsers grant the permission and then refuse notifications from a page.
    this.#show(TAG, TITLE, "Notifications are on.", { about: new Set(), messages: 0 });
    browserStore.set(KEY, this.#userId);
  }

  turnOff(): void {
    browserStore.remove(KEY);
    this.clear();
  }

  showNames(isWanted: boolean): void {
    browserStore.set(KEY, isWanted ? `${this.#userId} ${WITH_NAMES}` : this.#userId);
    this.clear();
  }

  hear(change: Change): void {
    const isAlert = change.type === "message.created" || change.type === "message.mentioned";
    if (isAlert && "notify" in change && change.notify) {
      if (this.isOn && !this.#isPushed()) void this.#notify(change.payload);
    } else if (change.type === "conversation.updated" && change.payload.unread_count === 0) {
      // The conversation was read, here or elsewhere.
      for (const [tag, { notification, about }] of this.#shown)
        if (about.delete(change.payload.id) && about.size === 0) {
          notification.close();
          this.#shown.delete(tag);
        }
    }
  }

  clear(): void {
    for (const { notification } of this.#shown.values()) notification.close();
    this.#shown.clear();
  }

  get #chosen(): string | undefined {
    const [userId, names = ""] = (browserStore.get(KEY) ?? "").split(" ");
    return userId === this.#userId ? names : undefined;
  }

  /** Shows one notification for each conversation or, without names, one for all. */
  async #notify(message: Alert): Promise<void> {
    if (await isAnyLookedAt(this.#userId)) return;
    const { conversation_id } = message;
    const tag = this.hasNames ? conversation_id : TAG;
    const before = this.#shown.get(tag);
    const about = new Set(before?.about).add(conversation_id);
    const messages = (before?.messages ?? 0) + 1;
    const title = (this.hasNames && this.#conversations.toName(message)) || TITLE;
    const body = messages === 1 ? "You have a new message." : `You have ${messages} new messages.`;
    this.#show(tag, title, body, { about, messages });
  }

  #show(tag: string, title: string, body: string, { about, messages }: Omit<Shown, "notification">): void {
    const notification = new Notification(title, { body, tag });
    notification.onclick = () => {
      focus();
      notification.close();
      const [conversationId] = about;
      if (about.size === 1 && conversationId !== undefined) this.#conversations.open(conversationId);
    };
    this.#shown.set(tag, { notification, about, messages });
  }
}
