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

export default defineConfig({
  root: import.meta.dirname,
  // Relative, so that the console also works below a path of a proxy.
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  plugins: [precompress],
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
