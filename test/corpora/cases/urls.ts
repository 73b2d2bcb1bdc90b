// Addresses on which others try their parsers, and those by which others try to reach what is private: an avatar's is kept as it
// is, as nobody fetches it; a webhook's leads to the public internet by https or is refused.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { accepted, administrator, client, each, json, type Target } from "../target.ts";
import { avatarUrl } from "./fields.ts";

const require = createRequire(import.meta.url);
const data = (name: string) => require(`ssrfcheck/tests/data/${name}.js`) as string[];
const uris = (name: string) =>
  (require(`fast-uri/test/fixtures/uri-js-${name}.json`) as [input: unknown, output: unknown][])
    .flat()
    .filter((one) => typeof one === "string");

const overHttps = (url: string) => url.replace(/^(?:[a-z]+:)?\/*/i, "https://");

export async function avatars(target: Target): Promise<string> {
  const ask = client(target, await administrator(target));
  const all = [
    ...new Set([
      ...["should-pass", "should-not-pass"].flatMap(data),
      ...["parse", "serialize"].flatMap(uris),
    ]),
  ];
  let kept = 0;
  await each(all, async (url, index) => {
    const fields = { username: `url-${index}`, phone_number: "555", avatar_url: url };
    const made = accepted(await ask("POST", "/v1/contacts", json(fields)));
    assert.equal(made?.avatar_url, avatarUrl(url));
    if (made) kept++;
  });
  return `ssrfcheck and fast-uri: ${all.length} addresses of an avatar: ${kept} kept, ${all.length - kept} refused`;
}

/** A name, of which nobody knows until it is connected to; by then what it leads to must be public. */
const isName = (url: string) =>
  !/^(?:[\d.]*\d[\d.]*|\[.*\]|(?:.*\.)?localhost\.?)$/.test(new URL(url).hostname);
/** With a space or a fragment, which no webhook has, or an address that stands for another one. */
const NEVER = /[\s#]|\[(?:::|64:)/;

export async function webhooks(target: Target): Promise<string> {
  const ask = client(target, await target.user());
  const tried = { kept: 0, refused: 0 };
  const send = async (url: string) => {
    const made = accepted(await ask("POST", "/v1/webhooks", json({ url })));
    tried[made ? "kept" : "refused"]++;
    // A user may have few.
    if (made) await ask("DELETE", `/v1/webhooks/${made.id}`);
    return made && String(made.url);
  };
  const bad = data("should-not-pass");
  await each([...bad, ...bad.map(overHttps)], async (url) => {
    const made = await send(url);
    assert.ok(made === undefined || isName(made), made);
  });
  const good = [...data("should-pass"), ...data("valid-ips-list")];
  await each(good, async (url) => {
    const made = await send(overHttps(url));
    assert.equal(made, NEVER.test(url) ? undefined : new URL(overHttps(url)).href);
  });
  return `ssrfcheck: ${bad.length} addresses not to go to, in 2 ways, and ${good.length} others: ${tried.kept} taken, ${tried.refused} refused`;
}
