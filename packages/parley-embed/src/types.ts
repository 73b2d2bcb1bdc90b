/** A text, or its plural forms by the categories of `Intl.PluralRules`. */
export type Label = string | { readonly [category in Intl.LDMLPluralRule]?: string };

/** Texts by key. Those that are missing are shown in English. */
export type Labels = Readonly<Record<string, Label>>;

/** The detail of `parley-open`. */
export interface ParleyOpen {
  /** The id of the conversation. */
  conversation: string;
}

/** The detail of `parley-error`. */
export interface ParleyError {
  /** A code of the API or of parley-client, or `missing_token`, `contact_not_found` or `labels_not_found`. */
  code: string;
  detail: string;
}
