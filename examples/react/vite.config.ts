import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const { PARLEY_URL = "http://127.0.0.1:8080" } = process.env;
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
  server: { proxy: { "/v1": { target: PARLEY_URL, ws: true }, "/files": PARLEY_URL } },
});
