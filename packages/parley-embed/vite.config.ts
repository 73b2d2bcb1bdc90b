import { join } from "node:path";
import { defineConfig, type Plugin } from "vite";

const toSource = (path: string) => join(import.meta.dirname, "..", path);

/** What only Node has, and parts of the client and of parley-sync that the components do not call: 4 kB with gzip. */
const UNUSED: Readonly<Record<string, string>> = {
  archives: "function Archives() {}",
  around: "function openAround() {}",
  blocks: "function Blocks() {}",
  download: "function Download() {}",
  "message-watch": "function watchMessages() {}",
  node: "const isNode = false, nodeFiles = undefined",
  "push-subscriptions": "function PushSubscriptions() {}",
  "state-watch": "function watchState() {}",
  tokens: "function Tokens() {}",
  typists: "function Typists() {}",
  users: "function Users() {}",
  webhooks: "function Webhooks() {}",
};

const leaveUnused: Plugin = {
  name: "leave-unused",
  enforce: "pre",
  load(id) {
    const [, file = ""] = /\/parley-(?:client|sync)\/src\/([\w-]+)\.ts$/.exec(id) ?? [];
    return UNUSED[file] && `export ${UNUSED[file]};`;
  },
};

export default defineConfig({
  root: import.meta.dirname,
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  resolve: {
    alias: [
      { find: /^parley-client$/, replacement: toSource("parley-client/src/index.ts") },
      { find: /^parley-sync$/, replacement: toSource("parley-sync/src/index.ts") },
      { find: /^parley-sync\/indexeddb$/, replacement: toSource("parley-sync/src/indexeddb.ts") },
    ],
  },
  plugins: [leaveUnused],
  json: { namedExports: false },
  build: {
    outDir: "served",
    emptyOutDir: true,
    target: "es2023",
    // For light-dark().
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    lib: { entry: join(import.meta.dirname, "src/index.ts"), formats: ["es"], fileName: "index" },
    license: { fileName: "licenses.md" },
    rolldownOptions: { output: { chunkFileNames: "labels/[name].js", minify: true, comments: false } },
  },
});
