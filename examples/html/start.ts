// A static file server. It serves the sources of the packages without their types, which is what their `dist` contains.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { stripTypeScriptTypes } from "node:module";
import type { AddressInfo } from "node:net";
import { printLinks, startDemo } from "../demo.ts";

const ROOT = new URL("../../", import.meta.url);
const PACKAGE = /^\/node_modules\/(parley-\w+)\/dist\/([\w-]+)\.[jt]s$/;

function read(path: string): string {
  const [, name, part] = PACKAGE.exec(path) ?? [];
  if (name)
    return stripTypeScriptTypes(readFileSync(new URL(`packages/${name}/src/${part}.ts`, ROOT), "utf8"));
  const folder = path.startsWith("/node_modules/") ? ROOT : new URL("examples/html/", ROOT);
  return readFileSync(new URL(`.${path === "/" ? "/index.html" : path}`, folder), "utf8");
}

const pages = createServer(({ url = "/" }, response) => {
  const { pathname } = new URL(url, "http://localhost");
  try {
    const body = read(pathname);
    const type = /\.[jt]s$/.test(pathname) ? "text/javascript" : "text/html";
    response.writeHead(200, { "content-type": `${type}; charset=utf-8` }).end(body);
  } catch {
    response.writeHead(404).end();
  }
});
await once(pages.listen(0, "127.0.0.1"), "listening");
printLinks(await startDemo(), `http://127.0.0.1:${(pages.address() as AddressInfo).port}/`);
