import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const toSource = (name: string) => fileURLToPath(new URL(`../../packages/${name}.ts`, import.meta.url));

export default defineConfig({
  root: import.meta.dirname,
  // The packages of this repository. An app that installed them needs no aliases.
  resolve: {
    alias: [
      { find: /^(parley-\w+)$/, replacement: toSource("$1/src/index") },
      { find: /^(parley-sync)\/(\w+)$/, replacement: toSource("$1/src/$2") },
    ],
  },
  build: { target: "es2023" },
});
