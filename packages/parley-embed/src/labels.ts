// The texts of the components: English, or a file of labels that is loaded.
import english from "./labels/en.json" with { type: "json" };
import type { Label, Labels } from "./types.ts";

/** Languages that are loaded when they are needed: by a literal path each, which bundlers follow. */
const LANGUAGES: Readonly<Record<string, () => Promise<{ default: Labels }>>> = {
  ar: () => import("./labels/ar.json", { with: { type: "json" } }),
  de: () => import("./labels/de.json", { with: { type: "json" } }),
  es: () => import("./labels/es.json", { with: { type: "json" } }),
  fr: () => import("./labels/fr.json", { with: { type: "json" } }),
  it: () => import("./labels/it.json", { with: { type: "json" } }),
  ja: () => import("./labels/ja.json", { with: { type: "json" } }),
  nl: () => import("./labels/nl.json", { with: { type: "json" } }),
  pl: () => import("./labels/pl.json", { with: { type: "json" } }),
  pt: () => import("./labels/pt.json", { with: { type: "json" } }),
  tr: () => import("./labels/tr.json", { with: { type: "json" } }),
  zh: () => import("./labels/zh.json", { with: { type: "json" } }),
};

const loading = new Map<string, Promise<Labels>>();

/** The labels to show, and the locale in which their language writes numbers and times. */
export interface Language {
  labels: Labels;
  locale: string;
}

/** Loads the labels of a locale such as `de-AT`, or those of an app. Rejects if their file can't be loaded. */
export async function loadLanguage(locale: string, labels: Labels | string | null): Promise<Language> {
  if (labels !== null)
    return { locale, labels: typeof labels === "string" ? await loadFile(labels) : labels };
  const language = locale.split("-")[0]!.toLowerCase();
  if (!Object.hasOwn(LANGUAGES, language))
    return { locale: language === "en" ? locale : "en", labels: english };
  return { locale, labels: (await LANGUAGES[language]!()).default };
}

function loadFile(url: string): Promise<Labels> {
  let loaded = loading.get(url);
  if (!loaded) {
    loaded = fetch(url).then((answer) => {
      if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
      return answer.json();
    });
    // The next element tries again.
    loaded.catch(() => loading.delete(url));
    loading.set(url, loaded);
  }
  return loaded;
}

type LabelKey = keyof typeof english;
type Values = Readonly<Record<string, string | number>>;
export type Translate = (key: LabelKey, values?: Values) => string;

/** Returns a function that fills in the values of a label. `count` chooses the plural form. */
export function toTranslate({ labels, locale }: Language): Translate {
  const plurals = new Intl.PluralRules(locale);
  const numbers = new Intl.NumberFormat(locale);
  return (key, values = {}) => {
    const label: Label = labels[key] ?? english[key];
    const text =
      typeof label === "string" ? label : (label[plurals.select(Number(values.count))] ?? label.other);
    return (text ?? "").replace(/\{(\w+)\}/g, (_, name) => {
      const value = values[name] ?? "";
      return typeof value === "number" ? numbers.format(value) : value;
    });
  };
}
