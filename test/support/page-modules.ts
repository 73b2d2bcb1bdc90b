// The modules of the packages in pages of a browser.
import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import type { Fate } from "./proxy.ts";

const ROOT = new URL("../../", import.meta.url);
const TYPESCRIPT = /^\/packages\/[a-z-]+\/src\/[a-z-]+\.ts$/;
const IDB = "/idb.js";

/** The head of a page, with which modules of the packages can import their dependency. */
export const IMPORTS = `<!doctype html><script type="importmap">{ "imports": { "idb": "${IDB}" } }</script>`;

/** Serves a module of the packages to a page, without its types. Undefined for any other path. */
export function moduleAt(path: string): Fate | undefined {
  if (path !== IDB && !TYPESCRIPT.test(path)) return;
  const text = readFileSync(
    new URL(path === IDB ? "node_modules/idb/build/index.js" : `.${path}`, ROOT),
    "utf8",
  );
  const body = path === IDB ? text : stripTypeScriptTypes(text);
  return { status: 200, headers: { "content-type": "text/javascript" }, body };
}
