// Adds to the pages what needs a script: the search, buttons that copy code, tabs, and the mark of the heading in view.
const make = (name, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};

// Code: a button that copies it, and access by the keyboard to what is wider than its box.

for (const code of document.querySelectorAll(".code")) {
  const button = make("button", { type: "button", className: "button copy", textContent: "Copy" });
  button.onclick = async () => {
    await navigator.clipboard.writeText(code.querySelector("pre").textContent);
    button.textContent = "Copied";
    button.classList.add("done");
    setTimeout(() => {
      button.textContent = "Copy";
      button.classList.remove("done");
    }, 2000);
  };
  // Browsers have a clipboard only on HTTPS and on this machine.
  if (navigator.clipboard) code.append(button);
}

const boxes = document.querySelectorAll("pre, .table");
const letScroll = () => {
  for (const box of boxes) {
    const isWider = box.scrollWidth > box.clientWidth;
    if (isWider) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
};
addEventListener("resize", letScroll);

// Pictures that move, and a button that stops them. They begin still for readers who want less motion.

for (const picture of document.querySelectorAll("[data-moving]")) {
  const { src: still } = picture;
  const button = make("button", { type: "button", className: "button" });
  const show = (moves) => {
    picture.src = moves ? picture.dataset.moving : still;
    button.textContent = moves ? "Stop" : "Play";
    button.onclick = () => show(!moves);
  };
  show(!matchMedia("(prefers-reduced-motion: reduce)").matches);
  picture.after(button);
}

// Tabs: the same choice in each group, on all pages.

const CHOICE = "parley-docs-tab";
const groups = [...document.querySelectorAll(".tabs")].map((group, at) => addTabs(group, at));

// A browser that keeps no data of this site throws.

function keepChoice(name) {
  try {
    localStorage.setItem(CHOICE, name);
  } catch {}
}

function readChoice() {
  try {
    return localStorage.getItem(CHOICE);
  } catch {
    return null;
  }
}

function addTabs(group, at) {
  const panels = [...group.querySelectorAll(".code")];
  const tabs = panels.map((panel, i) => {
    const { tab: name } = panel.dataset;
    const tab = make("button", { type: "button", role: "tab", id: `tab-${at}-${i}`, textContent: name });
    panel.id = `panel-${at}-${i}`;
    panel.role = "tabpanel";
    panel.setAttribute("aria-labelledby", tab.id);
    tab.setAttribute("aria-controls", panel.id);
    tab.onclick = () => {
      const before = tab.getBoundingClientRect().top;
      keepChoice(name);
      for (const choose of groups) choose(name);
      letScroll();
      // Groups above have changed their height.
      scrollBy(0, tab.getBoundingClientRect().top - before);
    };
    return tab;
  });
  const list = make("div", { role: "tablist", ariaLabel: "Language" }, ...tabs);
  list.onkeydown = ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (!step) return;
    const next = tabs.at((tabs.indexOf(document.activeElement) + step) % tabs.length);
    next.click();
    next.focus();
  };
  group.prepend(list);
  group.classList.add("live");
  return (name) => {
    const shown = panels.findIndex(({ dataset }) => dataset.tab === name);
    if (shown < 0) return;
    for (const [i, panel] of panels.entries()) {
      panel.hidden = i !== shown;
      tabs[i].ariaSelected = String(i === shown);
      tabs[i].tabIndex = i === shown ? 0 : -1;
    }
  };
}

for (const [at, choose] of groups.entries()) {
  choose(document.getElementById(`panel-${at}-0`).dataset.tab);
  choose(readChoice());
}
letScroll();

// The heading in view, in the list of headings.

const entries = new Map(
  [...document.querySelectorAll(".contents a")].map((link) => [decodeURIComponent(link.hash.slice(1)), link]),
);
const watcher = new IntersectionObserver(
  (changes) => {
    const seen = changes.find(({ isIntersecting }) => isIntersecting);
    if (!seen) return;
    for (const link of entries.values()) link.removeAttribute("aria-current");
    entries.get(seen.target.id).setAttribute("aria-current", "true");
  },
  { rootMargin: "-80px 0px -60% 0px" },
);
for (const id of entries.keys()) watcher.observe(document.getElementById(id));

// The search: all words must be in the title of a part or in its text, each at the beginning of a word there.

const LIMIT = 30;
const opener = document.getElementById("site-search");
const input = make("input", {
  type: "search",
  placeholder: "Search the documentation",
  ariaLabel: "Search the documentation",
});
const count = make("p", { role: "status" });
const list = make("ul");
const dialog = make("dialog", { className: "search", ariaLabel: "Search" }, input, count, list);
const base = new URL(".", new URL(opener.dataset.index, location.href));
let index;

document.body.append(dialog);
opener.hidden = false;
opener.onclick = openSearch;
input.oninput = showFound;
dialog.onclick = ({ target }) => {
  // A click beside the dialog, or on a result on this page.
  if (target === dialog || target.closest("a")) dialog.close();
};
dialog.onkeydown = (event) => {
  const places = [input, ...list.querySelectorAll("a")];
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) {
    event.preventDefault();
    places.at((places.indexOf(document.activeElement) + step) % places.length).focus();
  }
  if (event.key === "Enter" && document.activeElement === input) places[1]?.click();
  // The field would only clear itself.
  if (event.key === "Escape") dialog.close();
};
addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input, textarea");
  const isAsked = event.key === "/" || (event.key === "k" && (event.ctrlKey || event.metaKey));
  if (!isAsked || isTyping) return;
  event.preventDefault();
  openSearch();
});

async function openSearch() {
  if (!dialog.open) dialog.showModal();
  input.select();
  index ??= fetch(opener.dataset.index)
    .then((answer) => answer.json())
    .catch(() => {
      index = undefined;
      count.textContent = "The search can't be loaded. Try again.";
      return [];
    });
  await index;
  await showFound();
}

async function showFound() {
  const pages = await index;
  const words = input.value.trim().split(/\s+/).filter(Boolean);
  const patterns = words.map((word) => new RegExp(`(?<![\\p{L}\\p{N}])${escapePattern(word)}`, "giu"));
  const found = words.length === 0 ? [] : pages.flatMap((page) => findInPage(page, patterns));
  found.sort((one, other) => other.score - one.score);
  list.replaceChildren(...found.slice(0, LIMIT).map((each) => showResult(each, patterns)));
  if (pages.length === 0) return;
  count.textContent = words.length === 0 ? "Type words, in any order." : toCount(found.length);
}

function escapePattern(word) {
  return word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

function toCount(number) {
  if (number === 0) return "Nothing found. Try fewer words, or the beginnings of words.";
  return number === 1 ? "1 result" : `${number} results${number > LIMIT ? `, the first ${LIMIT}` : ""}`;
}

function findInPage([url, title, section, parts], patterns) {
  return parts.flatMap(([id, heading, text]) => {
    let score = 0;
    for (const pattern of patterns) {
      const [inHeading, inTitle, inText] = [heading, title, text].map((each) => weigh(each, pattern));
      if (inHeading + inTitle + inText === 0) return [];
      score += 20 * inHeading + 8 * inTitle + Math.min(inText, 8);
    }
    // An explanation comes before the tables of the same operation.
    if (section === "Reference") score *= 0.7;
    // The title of a page alone says nothing of its parts.
    const isInPart = patterns.some((pattern) => `${heading} ${text}`.match(pattern));
    return isInPart
      ? [{ url: id ? `${url}#${id}` : url, place: `${section} › ${title}`, heading, text, score }]
      : [];
  });
}

/** Counts the words that begin like this. A whole word counts more. */
function weigh(text, pattern) {
  const isWhole = ({ 0: word, index }) => !/[\p{L}\p{N}]/u.test(text.charAt(index + word.length));
  return [...text.matchAll(pattern)].reduce((sum, match) => sum + (isWhole(match) ? 3 : 1), 0);
}

/** Returns the piece of a text that has most of the words. */
function toExcerpt(text, patterns) {
  const places = patterns.flatMap((pattern) => [...text.matchAll(pattern)].map(({ index }) => index));
  const countFrom = (at) => patterns.filter((pattern) => text.slice(at, at + 120).match(pattern)).length;
  const best = places.reduce((found, at) => (countFrom(at) > countFrom(found) ? at : found), places[0] ?? 0);
  const start = best < 40 ? 0 : text.lastIndexOf(" ", best - 30) + 1;
  return `${start > 0 ? "…" : ""}${text.slice(start, start + 180)}${start + 180 < text.length ? "…" : ""}`;
}

function showResult({ url, place, heading, text }, patterns) {
  const link = make(
    "a",
    { href: new URL(url, base) },
    make("strong", {}, ...markWords(heading, patterns)),
    make("span", {}, place),
    make("span", {}, ...markWords(toExcerpt(text, patterns), patterns)),
  );
  return make("li", {}, link);
}

/** Returns the text in pieces, each found word in a mark. */
function markWords(text, patterns) {
  const ranges = patterns
    .flatMap((pattern) =>
      [...text.matchAll(pattern)].map(({ 0: word, index }) => [index, index + word.length]),
    )
    .sort(([one], [other]) => one - other);
  const pieces = [];
  let end = 0;
  for (const [from, to] of ranges) {
    if (from < end) continue;
    pieces.push(text.slice(end, from), make("mark", {}, text.slice(from, to)));
    end = to;
  }
  return [...pieces, text.slice(end)];
}

// A bar of a narrow screen closes when a link in it is followed.
for (const bar of document.querySelectorAll(".side"))
  bar.addEventListener("click", ({ target }) => {
    if (target.closest("a") && bar.matches(":popover-open")) bar.hidePopover();
  });
