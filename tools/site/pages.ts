// The pages of the site, in the order in which they are read: by section, as the line at the top shows them, and by group.
import { readFileSync } from "node:fs";
import { posix } from "node:path";

/** A page, before it is rendered. */
export interface Page {
  /** Its Markdown file, relative to the root. Those of the reference are made by the build. */
  source: string;
  /** Its address below that of the site. */
  url: string;
  title: string;
  markdown: string;
}

interface Group {
  title: string;
  pages: Page[];
}

export interface Section {
  title: string;
  groups: Group[];
}

const API =
  "README me users tokens contacts blocks conversations messages groups attachments uploads archives";
const API_BACK_ENDS = "events snapshot webhooks push-subscriptions acting audit";
const below = (folder: string, names: string) => names.split(" ").map((name) => `docs/${folder}${name}.md`);

/** All sections but the reference. */
const SECTIONS: Record<string, Record<string, string[]>> = {
  Guides: {
    Start: below("", "README tour"),
    "Build an app": [
      ...below("guides/", "add-chat-to-your-app embed sign-in offline"),
      ...below("", "push"),
      ...below("guides/", "moderation moving-in"),
      ...below("", "sharing"),
    ],
    Packages: [
      ...["client", "sync", "react", "embed"].map((name) => `packages/parley-${name}/README.md`),
      ...["", "embed/", "react/", "react-native/", "html/", "bot/"].map(
        (folder) => `examples/${folder}README.md`,
      ),
    ],
  },
  API: {
    Resources: below("api/", API),
    "Changes and back ends": below("api/", API_BACK_ENDS),
  },
  Operate: {
    "Run a server": below("", "install operate scaling cli"),
    Background: below("", "security performance comparison"),
  },
};

/** Returns the address of a page: that of a README is the name of its folder. */
function toAddress(source: string): string {
  const path = source.replace(/^docs\//, "").replace(/(?:^|\/)README\.md$/, ".md");
  return path === ".md" ? "index.html" : path.replace(/\.md$/, ".html");
}

export function toPage(source: string, markdown: string): Page {
  return { source, url: toAddress(source), title: /^# (.+)$/m.exec(markdown)![1]!, markdown };
}

/** Reads the sections. The reference has its place before the last one. */
export function readSections(root: string, reference: Section): Section[] {
  const sections = Object.entries(SECTIONS).map(([title, groups]) => ({
    title,
    groups: Object.entries(groups).map(([group, sources]) => ({
      title: group,
      pages: sources.map((source) => toPage(source, readFileSync(posix.join(root, source), "utf8"))),
    })),
  }));
  return sections.toSpliced(-1, 0, reference);
}

export function listPages(section: Section): Page[] {
  return section.groups.flatMap(({ pages }) => pages);
}

/** Returns the relative address of `to` on the page `from`. */
export function relativeAddress(from: string, to: string): string {
  return posix.relative(posix.dirname(from), to);
}
