// Your back end: it puts a token of the user who is signed in to it into the page.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { startDemo } from "../demo.ts";

const { url, ada, bob } = await startDemo();
const tokens: Readonly<Record<string, string>> = { "/ada": ada.token, "/bob": bob.token };
const read = (name: string) => readFileSync(join(import.meta.dirname, name), "utf8");
const policy = [
  "default-src 'none'",
  "style-src 'self'",
  `script-src 'self' ${url}`,
  `connect-src ${url} ${url.replace("http", "ws")}`,
  `img-src ${url}`,
].join("; ");

const pages = createServer(({ url: path = "" }, response) => {
  const token = tokens[path];
  if (path === "/themes.css") response.setHeader("content-type", "text/css").end(read("themes.css"));
  else if (path === "/theme.js") response.setHeader("content-type", "text/javascript").end(read("theme.js"));
  else if (token === undefined) response.writeHead(404).end();
  else {
    const html = read("index.html").replaceAll("{server}", url).replace("{token}", token);
    response.setHeaders(new Headers({ "content-type": "text/html", "content-security-policy": policy }));
    response.end(html);
  }
});
await once(pages.listen(0, "127.0.0.1"), "listening");
const origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
console.log(`Ada: ${origin}/ada\nBob: ${origin}/bob`);
