// URLs from the tests of other parsers, and URLs that try to reach private addresses: an avatar's is stored unchanged,
// as nobody fetches it; a webhook's must be https to the public internet.
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

/** A host name is accepted now and resolved at the connection, when its address must be public. */
const isName = (url: string) =>
  !/^(?:[\d.]*\d[\d.]*|\[.*\]|(?:.*\.)?localhost\.?)$/.test(new URL(url).hostname);
/** Refused for every webhook: a space, a fragment, or an IPv6 address that embeds another. */
const NEVER = /[\s#]|\[(?:::|64:)/;

export async function webhooks(target: Target): Promise<string> {
  const ask = client(target, await target.user());
  const tried = { kept: 0, refused: 0 };
  const send = async (url: string) => {
    const made = accepted(await ask("POST", "/v1/webhooks", json({ url })));
    tried[made ? "kept" : "refused"]++;
    // The number of webhooks is limited.
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
