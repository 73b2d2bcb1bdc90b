// Links in texts, and the files of labels.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { splitLinks } from "../../packages/parley-embed/src/links.ts";

const LABELS = join(import.meta.dirname, "../../packages/parley-embed/src/labels");

const toLinks = (text: string) =>
  splitLinks(text).flatMap((part) => (typeof part === "string" ? [] : [[part.text, part.href]]));

test("http, https and mail addresses become links, without the punctuation after them", () => {
  for (const [text, shown, href] of [
    ["See https://a.example/b.", "https://a.example/b", "https://a.example/b"],
    ["(see http://a.example)", "http://a.example", "http://a.example/"],
    ["https://a.example/x_(y)", "https://a.example/x_(y)", "https://a.example/x_(y)"],
    ["www.a.example!", "www.a.example", "https://www.a.example/"],
    ["ada@a.example,", "ada@a.example", "mailto:ada@a.example"],
    ["mailto:ada@a.example", "mailto:ada@a.example", "mailto:ada@a.example"],
    ["HTTPS://A.example", "HTTPS://A.example", "https://a.example/"],
  ] as const)
    assert.deepEqual(toLinks(text), [[shown, href]]);
});

test("nothing else becomes a link, and no character is lost", () => {
  for (const text of [
    "javascript:alert(1)",
    "data:text/html,x",
    "https://",
    "https://good.example@evil.example",
    "xhttps://a.example",
    "1 @ 2",
    "",
  ])
    assert.deepEqual(toLinks(text), [], text);
  assert.deepEqual(toLinks("https://a.example/\u202Egnp.exe"), [
    ["https://a.example/", "https://a.example/"],
  ]);
  const text = "a https://b.example, c@d.example\nwww.e.example)";
  const whole = splitLinks(text).map((part) => (typeof part === "string" ? part : part.text));
  assert.equal(whole.join(""), text);
});

test("a long text is split in linear time", () => {
  for (const text of ["a".repeat(100_000), "a@".repeat(50_000), "https://a.".repeat(10_000)])
    assert.ok(splitLinks(text).length > 0);
});

test("each language has every label, with its values and the plural forms of the language", () => {
  const read = (file: string) => JSON.parse(readFileSync(join(LABELS, file), "utf8"));
  const english = read("en.json") as Record<string, string | Record<string, string>>;
  const toValues = (text: string) => text.match(/\{\w+\}/g)?.toSorted() ?? [];
  for (const file of readdirSync(LABELS)) {
    const labels = read(file) as typeof english;
    assert.deepEqual(Object.keys(labels), Object.keys(english), file);
    for (const [key, label] of Object.entries(labels)) {
      const wanted = english[key]!;
      assert.equal(typeof label, typeof wanted, `${file} ${key}`);
      if (typeof label === "string")
        assert.deepEqual(toValues(label), toValues(wanted as string), `${file} ${key}`);
      else
        for (const count of [0, 1, 2, 5, 11, 22, 100]) {
          const category = new Intl.PluralRules(file.slice(0, 2)).select(count);
          assert.ok(
            category in label || (category === "many" && "other" in label),
            `${file} ${key} ${category}`,
          );
        }
    }
  }
});
