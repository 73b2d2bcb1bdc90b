import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

/** Writes what compresses well a second and third time, so that the server spends no time on it. */
const precompress: Plugin = {
  name: "precompress",
  writeBundle: ({ dir }) => {
    for (const entry of readdirSync(dir!, { recursive: true, withFileTypes: true })) {
      if (!/\.(?:html|js|css|svg|webmanifest)$/.test(entry.name)) continue;
      const path = join(entry.parentPath, entry.name);
      const plain = readFileSync(path);
      writeFileSync(`${path}.br`, brotliCompressSync(plain));
      writeFileSync(`${path}.gz`, gzipSync(plain, { level: 9 }));
    }
  },
};

/** Parts of the client that the console never calls: parley-sync follows changes. */
const UNUSED = /\/parley-client\/src\/(?:message-watch|state-watch|typists|download|blocks)\.ts$/;

/** Leaves them out: their callers are methods of classes, so the bundler cannot know. */
const withoutUnused: Plugin = {
  name: "without-unused",
  transform: (code, id) => {
    // It would load styles and modules ahead, and there are none to load.
    if (id.endsWith("vite/preload-helper.js")) return "export const __vitePreload = (load) => load();";
    if (!UNUSED.test(id)) return undefined;
    const names = [...code.matchAll(/^export (?:async )?(?:function\*?|class) (\w+)/gm)];
    return names.map(([, name]) => `export class ${name} {}`).join("\n");
  },
};

export default defineConfig({
  root: import.meta.dirname,
  // Relative, so that the console also works below a path of a proxy.
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  plugins: [precompress, withoutUnused],
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: "es2023",
    // Nothing inline: the policy of the page allows no data: addresses.
    assetsInlineLimit: 0,
    modulePreload: false,
    // The styles of the administration are small, and compress better with the others.
    cssCodeSplit: false,
    // The client loads it in Node only.
    rolldownOptions: { external: [/node-files/] },
    license: { fileName: "licenses.md" },
  },
});
