import { defineConfig } from "vite";

export default defineConfig({
  root: import.meta.dirname,
  // Relative, so that the console also works below a path of a proxy.
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: "es2023",
    // Nothing inline: the policy of the page allows no data: addresses.
    assetsInlineLimit: 0,
    modulePreload: false,
    license: { fileName: "licenses.md" },
  },
});
