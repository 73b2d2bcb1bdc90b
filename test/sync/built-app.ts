// Apps of pages, built by Vite.
import assert from "node:assert/strict";
import { build, type InlineConfig } from "vite";
import type { Fate } from "../support/proxy.ts";

/** Builds an app. Returns what answers its paths; an unknown path gets its page. */
export async function buildApp(config: InlineConfig): Promise<(path: string) => Fate> {
  const built = await build({
    ...config,
    logLevel: "error",
    build: { ...config.build, write: false },
  });
  assert.ok("output" in built);
  const files = new Map(
    built.output.map((file) => [
      `/${file.fileName}`,
      file.type === "chunk" ? file.code : String(file.source),
    ]),
  );
  return (path) => {
    const type = path.endsWith(".js") ? "text/javascript" : "text/html";
    const body = files.get(path) ?? files.get("/index.html")!;
    return { status: 200, headers: { "content-type": type }, body };
  };
}
