import { join } from "node:path";
import { createServer } from "vite";
import { printLinks, startDemo } from "../demo.ts";

const pages = await createServer({ configFile: join(import.meta.dirname, "vite.config.ts") });
await pages.listen();
printLinks(await startDemo(), pages.resolvedUrls!.local[0]!);
