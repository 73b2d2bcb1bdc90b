// The format of messages on the page: links, code, styles, quotes and emoji.
import assert from "node:assert/strict";
import { assertAccessible } from "./browser.ts";
import { testScenes } from "./scenes.ts";
import { find, meet, say, write } from "./talk.ts";

testScenes("the format of a message", {
  "styles, code, fences and quotes are shown as elements, and nothing is HTML": async (world) => {
    const { ann, bob } = await meet(world);
    await write(ann.page, "*bold* _italic_ ~gone~ `code *x*`");
    await write(ann.page, "> quoted\n> twice\n```\n  const a = 1;\n```\nafter");
    await write(ann.page, "<b>no</b> <img src=x onerror=alert(1)> **[x](javascript:alert(1))**");
    for (const { page } of [ann, bob]) {
      const styled = find(page, "italic").locator(".message-text");
      assert.equal(
        await styled.innerHTML(),
        "<strong>bold</strong> <em>italic</em> <s>gone</s> <code>code *x*</code>",
      );
      const blocks = find(page, "quoted").locator(".message-text");
      assert.equal(
        await blocks.innerHTML(),
        "<blockquote>quoted\ntwice</blockquote><pre>  const a = 1;</pre>after",
      );
      const font = (tag: string) =>
        page
          .locator(`.message-text ${tag}`)
          .first()
          .evaluate((element) => getComputedStyle(element).fontFamily);
      for (const tag of ["code", "pre"]) assert.match(await font(tag), /monospace/);
      const hostile = find(page, "onerror").locator(".message-text");
      assert.deepEqual(await hostile.locator("*").evaluateAll((all) => all.map(({ tagName }) => tagName)), [
        "STRONG",
      ]);
      assert.equal(
        await hostile.textContent(),
        "<b>no</b> <img src=x onerror=alert(1)> [x](javascript:alert(1))",
      );
      await assertAccessible(page, "formatted messages");
    }
    assert.deepEqual([...ann.guard.complaints, ...bob.guard.complaints], []);
  },

  "addresses are links that open elsewhere, and say where they lead": async (world) => {
    const { ann, bob, id } = await meet(world);
    await say(
      world.server,
      bob.user,
      id,
      "See https://example.org/a_(b), ada@example.org or +1 555 010 0100.",
    );
    await say(world.server, bob.user, id, "https://раураl.com/ and javascript:alert(1)");
    await say(world.server, bob.user, id, "\u202E https://example.org/live \u202C");
    const { page } = ann;
    const links = await find(page, "See")
      .locator("a")
      .evaluateAll((all) =>
        all.map((link) => {
          const { href, target, rel, title } = link as HTMLAnchorElement;
          return { href, target, rel, title };
        }),
      );
    assert.deepEqual(
      links.map(({ href }) => href),
      ["https://example.org/a_(b)", "mailto:ada@example.org", "tel:+15550100100"],
    );
    for (const { href, title, target, rel } of links)
      assert.deepEqual([title, target, rel], [href, "_blank", "noopener noreferrer nofollow"]);
    const alike = find(page, "javascript").locator("a");
    assert.equal(await alike.count(), 1);
    const beside = await alike.evaluate((link) => getComputedStyle(link, "::after").content);
    assert.match(beside, /xn--l-7sba6dbr\.com/);
    // An override around an address does not reorder its characters.
    const order = await page.locator("a[href='https://example.org/live']").evaluate((link) => {
      const text = link.firstChild!;
      const toLeft = (at: number) => {
        const range = document.createRange();
        range.setStart(text, at);
        range.setEnd(text, at + 1);
        return range.getBoundingClientRect().left;
      };
      return [toLeft(0), toLeft(8), toLeft(20)];
    });
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
    );
    await assertAccessible(page, "links");
    // One stop for Tab: the links of a message follow once it has the focus.
    await page.locator(".messages").focus();
    await page.keyboard.press("Tab");
    assert.equal(await page.locator(".message-text a:focus").count(), 0);
    await page.locator(".messages").focus();
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Tab");
    await page.locator(".message-text a[href='https://example.org/live']:focus").waitFor();
    assert.deepEqual([...ann.guard.complaints, ...bob.guard.complaints], []);
  },

  "a lone emoji is large": async (world) => {
    const { ann } = await meet(world);
    await write(ann.page, "👍🏽");
    await write(ann.page, "👍🏽 ok");
    const toSize = (text: string) =>
      find(ann.page, text)
        .locator(".message-text")
        .first()
        .evaluate((element) => Number.parseFloat(getComputedStyle(element).fontSize));
    assert.equal((await toSize("👍🏽")) / 15, 40 / 15);
    assert.equal(await toSize("ok"), 15);
    assert.deepEqual(ann.guard.complaints, []);
  },
});
