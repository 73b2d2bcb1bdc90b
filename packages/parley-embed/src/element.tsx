// The base of both elements: attributes and properties, the copy that they show, and events for apps.
import type { Reason } from "parley-sync";
import { render } from "preact";
import { App } from "./app.tsx";
import { type SharedCopy, shareCopy } from "./copies.ts";
import { Format } from "./format.ts";
import { type Language, loadLanguage, toTranslate } from "./labels.ts";
import base from "./styles/base.css?inline";
import messages from "./styles/messages.css?inline";
import panes from "./styles/panes.css?inline";
import parts from "./styles/parts.css?inline";
import type { Labels, ParleyError, ParleyOpen } from "./types.ts";

/** Attributes that are also properties. */
const REFLECTED = ["server", "token", "conversation", "user", "theme"] as const;
/** How long to wait after there was no token. */
const RETRY_MS = 5_000;
const RIGHT_TO_LEFT = /^(?:ar|dv|fa|he|ps|ur|yi)\b/;

const styles = new CSSStyleSheet();
styles.replaceSync(base + panes + messages + parts);

export class ParleyElement extends HTMLElement {
  static readonly observedAttributes: readonly string[] = [...REFLECTED, "labels", "lang", "dir"];

  /** The address of the server; that of the page by default. */
  declare server: string | null;
  declare token: string | null;
  /** The id of the conversation that is shown. */
  declare conversation: string | null;
  /** The username of a contact, whose conversation is opened. */
  declare user: string | null;
  /** `light`, `dark`, or `auto` for that of the device; without it as the page. */
  declare theme: string | null;
  readonly #hasInbox: boolean;
  readonly #root: ShadowRoot;
  readonly #frame = document.createElement("div");
  #getToken: (() => string | Promise<string>) | null = null;
  #labels: Labels | string | null = null;
  #language: Language | undefined;
  #copy: SharedCopy | undefined;
  #endListening = () => {};
  /** The username whose conversation was opened, or that no contact has. */
  #openedUser: string | undefined;
  /** The last one in the console. */
  #warning = "";
  /** Counts, so that a late answer is ignored. */
  #connects = 0;
  #loads = 0;

  constructor(hasInbox: boolean) {
    super();
    this.#hasInbox = hasInbox;
    this.#root = this.attachShadow({ mode: "open" });
    this.#root.adoptedStyleSheets = [styles];
    this.#frame.className = "frame";
    this.#root.append(this.#frame);
  }

  /** Returns a token, called before each request. It replaces `token`. */
  get getToken(): (() => string | Promise<string>) | null {
    return this.#getToken;
  }

  set getToken(getToken: (() => string | Promise<string>) | null) {
    this.#getToken = getToken;
    void this.#connect();
  }

  /** The texts, or the address of a JSON file that has them; null for those of the language. */
  get labels(): Labels | string | null {
    return this.#labels;
  }

  set labels(labels: Labels | string | null) {
    this.#labels = labels;
    void this.#load();
  }

  /** Erases the user's data in this browser. Call it when your user signs out. */
  async signOut(): Promise<void> {
    await this.#copy?.signOut();
  }

  connectedCallback(): void {
    for (const name of [...REFLECTED, "getToken", "labels"] as const) this.#upgrade(name);
    void this.#load();
    void this.#connect();
  }

  disconnectedCallback(): void {
    queueMicrotask(() => {
      // An element that moves is connected again by now, and keeps what it shows.
      if (this.isConnected) return;
      this.#connects++;
      this.#disconnect();
      render(null, this.#frame);
    });
  }

  attributeChangedCallback(name: string, before: string | null, value: string | null): void {
    if (!this.isConnected || value === before) {
      if (name === "labels") this.#labels = value;
    } else if (name === "server" || name === "token") void this.#connect();
    else if (name === "labels") this.labels = value;
    else if (name === "lang") void this.#load();
    else if (name === "user") void this.#openUser();
    else this.#render();
  }

  /** Sets a property again that was set before the element was defined. */
  #upgrade(name: (typeof REFLECTED)[number] | "getToken" | "labels"): void {
    if (!Object.hasOwn(this, name)) return;
    const value = this[name];
    delete this[name];
    Object.assign(this, { [name]: value });
  }

  #emit(type: string, detail: ParleyOpen | ParleyError): boolean {
    return this.dispatchEvent(
      new CustomEvent(type, { detail, bubbles: true, composed: true, cancelable: true }),
    );
  }

  #fail(error: unknown): void {
    const {
      code = "unexpected",
      message,
      detail = message ?? String(error),
    } = error as Partial<Reason & Error>;
    this.#emit("parley-error", { code, detail });
    const warning = `${this.localName}: ${code}: ${detail}`;
    // A repeated attempt fails with the same words.
    if (warning !== this.#warning) console.warn(warning);
    this.#warning = warning;
  }

  /** Loads the labels. Without them the texts are English. */
  async #load(): Promise<void> {
    if (!this.isConnected) return;
    const load = ++this.#loads;
    const from = this.closest<HTMLElement>("[lang]")?.lang || navigator.language;
    const language = await loadLanguage(from, this.#labels).catch(({ message }) => {
      this.#fail({ code: "labels_not_found", detail: message });
      return { locale: "en", labels: {} };
    });
    if (load !== this.#loads) return;
    this.#language = language;
    this.#render();
  }

  async #connect(): Promise<void> {
    if (!this.isConnected) return;
    const connect = ++this.#connects;
    // The copy must not get a later token, which may be of another user.
    const { token } = this;
    const getToken = this.#getToken ?? (token === null ? undefined : () => token);
    if (!getToken) return this.#disconnect();
    try {
      const { href } = new URL(this.server ?? "/", document.baseURI);
      const copy = await shareCopy(href.replace(/\/*$/, "/"), getToken, () => this.#disconnect());
      if (connect !== this.#connects) return copy.release();
      this.#take(copy);
    } catch (error) {
      if (connect !== this.#connects) return;
      this.#fail(error);
      setTimeout(() => connect === this.#connects && this.#connect(), RETRY_MS);
    }
  }

  #take(copy: SharedCopy): void {
    const last = this.#copy;
    if (last?.sync === copy.sync) {
      // The token was renewed: what the user has written stays.
      this.#copy = copy;
      last.release();
      return;
    }
    this.#disconnect();
    this.#copy = copy;
    const { sync } = copy;
    const connection = sync.connection();
    let { state: before } = connection.getSnapshot();
    const stops = [
      sync.onRefused(({ reason }) => this.#fail(reason)),
      connection.subscribe(() => {
        const { state, reason } = connection.getSnapshot();
        if (state === "refused" && state !== before) this.#fail(reason);
        if (state === "live" && this.user !== this.#openedUser) void this.#openUser();
        before = state;
      }),
    ];
    this.#endListening = () => {
      for (const stop of stops) stop();
    };
    this.#render();
    void this.#openUser();
  }

  #disconnect(): void {
    this.#endListening();
    this.#copy?.release();
    this.#copy = undefined;
    this.#openedUser = undefined;
    this.#render();
  }

  /** Opens the conversation with the contact whose username is in `user`, once it is known or there is a connection. */
  async #openUser(): Promise<void> {
    const { user } = this;
    const sync = this.#copy?.sync;
    if (!user || !sync) return;
    const { items } = sync.contacts().getSnapshot();
    let contact = items.find(({ username }) => username === user);
    if (!contact && sync.connection().getSnapshot().state !== "live") return;
    this.#openedUser = user;
    try {
      contact ??= (await sync.client.contacts.list({ username: user, limit: 1 })).data[0];
    } catch (error) {
      if (sync !== this.#copy?.sync) return;
      this.#openedUser = undefined;
      this.#fail(error);
      return;
    }
    if (user !== this.user || sync !== this.#copy?.sync) return;
    if (contact) this.conversation = contact.conversation_id;
    else this.#fail({ code: "contact_not_found", detail: `You have no contact with the username ${user}.` });
  }

  #open(conversation: string | null): void {
    if (conversation === null || this.#emit("parley-open", { conversation }))
      this.conversation = conversation;
  }

  #render(): void {
    if (!this.isConnected || !this.#language) return;
    const { locale } = this.#language;
    this.#frame.lang = locale;
    this.#frame.dir = this.dir || (RIGHT_TO_LEFT.test(locale) ? "rtl" : "ltr");
    const copy = this.#copy;
    const session = copy && {
      sync: copy.sync,
      server: copy.server,
      translate: toTranslate(this.#language),
      format: new Format(locale),
    };
    render(
      session && (
        <App
          session={session}
          hasInbox={this.#hasInbox}
          conversation={this.conversation}
          onOpen={(id) => this.#open(id)}
        />
      ),
      this.#frame,
    );
  }
}

for (const name of REFLECTED)
  Object.defineProperty(ParleyElement.prototype, name, {
    get(this: ParleyElement) {
      return this.getAttribute(name);
    },
    set(this: ParleyElement, value: string | null | undefined) {
      if (value == null) this.removeAttribute(name);
      else this.setAttribute(name, value);
    },
  });
