import { ParleyElement } from "./element.tsx";

export type { ParleyElement } from "./element.tsx";
export type * from "./types.ts";

/** The list of conversations beside the one that is open. In a narrow element one of the two is shown. */
export class ParleyInbox extends ParleyElement {
  constructor() {
    super(true);
  }
}

/** One conversation. */
export class ParleyChat extends ParleyElement {
  constructor() {
    super(false);
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "parley-inbox": ParleyInbox;
    "parley-chat": ParleyChat;
  }
}

// A page may load the script of two versions.
customElements.get("parley-inbox") ?? customElements.define("parley-inbox", ParleyInbox);
customElements.get("parley-chat") ?? customElements.define("parley-chat", ParleyChat);
