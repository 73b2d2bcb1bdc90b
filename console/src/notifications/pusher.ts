// Notifications while no window is open, through the browser's push service. Each user turns them on per browser.
import type { Parley } from "../../../packages/parley-client/src/index.ts";
import { browserStore } from "../session/storage.ts";

/** Who turned it on in this browser, and the id of their subscription. */
const KEY = "parley-push";
const WORKER = "push-worker.js";

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(): string }): { createScriptURL(url: string): string };
}

export class Pusher {
  #parley: Parley;
  #userId: string;
  #publicKey: string;

  constructor(parley: Parley, me: { id: string; push_public_key: string }) {
    this.#parley = parley;
    this.#userId = me.id;
    this.#publicKey = me.push_public_key;
  }

  /** Whether the browser supports push on this page. */
  get isPossible(): boolean {
    return isSecureContext && "serviceWorker" in navigator && "PushManager" in globalThis;
  }

  get isOn(): boolean {
    return this.isPossible && this.#subscriptionId !== undefined && Notification.permission === "granted";
  }

  /** Throws if the user, the browser or the server does not allow it. */
  async turnOn(): Promise<void> {
    if ((await Notification.requestPermission()) !== "granted")
      throw new Error("The browser does not allow them for this page.");
    const { pushManager } = await register();
    // Unsubscribe another user of this browser first: their push address becomes invalid.
    if (this.#subscriptionId === undefined) await (await pushManager.getSubscription())?.unsubscribe();
    const applicationServerKey = this.#publicKey;
    const subscription = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey });
    const { endpoint, keys } = subscription.toJSON();
    const { p256dh, auth } = keys as { p256dh: string; auth: string };
    const { id } = await this.#parley.pushSubscriptions.create({ endpoint: endpoint!, p256dh, auth });
    browserStore.set(KEY, `${this.#userId} ${id}`);
  }

  /** Sends the server what the browser may have changed, if push is on. */
  async renew(): Promise<void> {
    if (this.isOn) await this.turnOn();
  }

  async turnOff(): Promise<void> {
    const id = this.#subscriptionId;
    if (id === undefined) return;
    await endPush();
    await this.#parley.pushSubscriptions.delete(id);
  }

  /** Removes notifications shown while nobody was looking. */
  async clear(): Promise<void> {
    if (!this.isOn) return;
    const registration = await navigator.serviceWorker.getRegistration();
    for (const shown of (await registration?.getNotifications()) ?? []) shown.close();
  }

  get #subscriptionId(): string | undefined {
    const [userId, id] = (browserStore.get(KEY) ?? "").split(" ");
    return userId === this.#userId ? id : undefined;
  }
}

/** Unsubscribes the browser. The server finds out with the next push. */
export async function endPush(): Promise<void> {
  if (browserStore.get(KEY) === null) return;
  browserStore.remove(KEY);
  const registration = await navigator.serviceWorker.getRegistration();
  await (await registration?.pushManager.getSubscription())?.unsubscribe();
  await registration?.unregister();
}

/** The Content-Security-Policy allows scripts only through a Trusted Types policy of this name. */
async function register(): Promise<ServiceWorkerRegistration> {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  rules ??= trustedTypes?.createPolicy("push-worker", { createScriptURL: () => WORKER });
  await navigator.serviceWorker.register(rules?.createScriptURL("") ?? WORKER);
  return navigator.serviceWorker.ready;
}

/** A policy name can be used only once. */
let rules: ReturnType<TrustedTypes["createPolicy"]> | undefined;
