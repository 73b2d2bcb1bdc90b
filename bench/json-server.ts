import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { answers, freePort, type PeerWork } from "./peer.ts";
import { below, CONNECTIONS, get, JSON_TYPE, PAGE, post, randomContact } from "./requests.ts";
import { startPinned } from "./servers.ts";
import { FEW } from "./subject.ts";

/** As its own page starts it, but for the line that it prints for each request. It asks nobody who they are. */
export async function jsonServer(
  stack: AsyncDisposableStack,
  modules: string,
  folder: string,
): Promise<PeerWork> {
  const file = join(folder, "db.json");
  const contacts = Array.from({ length: FEW }, (_, i) => ({
    id: i + 1,
    ...JSON.parse(String(randomContact())),
  }));
  writeFileSync(file, JSON.stringify({ contacts }));
  const port = await freePort();
  const program = join(modules, "json-server", "lib", "cli", "bin.js");
  const args = ["--quiet", "--host", "127.0.0.1", "--port", String(port), file];
  const { pid } = startPinned(stack, [process.execPath, program, ...args], { cwd: folder, stdio: "ignore" });
  await answers(`http://127.0.0.1:${port}/contacts/1`);
  const read = { servers: [{ port, pid: pid! }], connections: CONNECTIONS, status: 200 };
  return {
    retrieve: { ...read, next: () => get(`/contacts/${1 + below(FEW)}`, {}) },
    list: { ...read, next: () => get(`/contacts?_page=${1 + below(FEW / PAGE)}&_limit=${PAGE}`, {}) },
    createRandom: { ...read, status: 201, next: () => post("/contacts", JSON_TYPE, randomContact()) },
    upload4k: null,
    download4k: null,
  };
}
