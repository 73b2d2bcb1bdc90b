// Bundles the server and the packages that it depends on to JavaScript.
import { dirname, join } from "node:path";
import { build, type Plugin } from "vite";

export const ROOT = join(import.meta.dirname, "../..");

/** Adds the programs that threads and processes start by their address, as bundles beside the code that starts them. */
const addStarted: Plugin = {
  name: "add-started",
  enforce: "pre",
  transform(code, id) {
    if (!id.startsWith(join(ROOT, "src/"))) return;
    return code.replaceAll(/new URL\("\.\/(\w+)\.ts", import\.meta\.url\)/g, (_, name) => {
      const fileName = `${name}.js`;
      this.emitFile({ type: "chunk", id: join(dirname(id), `${name}.ts`), fileName });
      return `new URL("./${fileName}", import.meta.url)`;
    });
  },
};

/** Lets the bundler see what is loaded by `require`. */
const bundleRequired: Plugin = {
  name: "bundle-required",
  enforce: "pre",
  transform: (code, id) =>
    id.startsWith(join(ROOT, "src/"))
      ? code.replace("const require = createRequire(import.meta.url);", "")
      : undefined,
};

/** Writes the bundles into a folder. Names stay as they are, so that stack traces can be read. */
export async function bundleServer(folder: string): Promise<void> {
  await build({
    root: ROOT,
    configFile: false,
    logLevel: "warn",
    plugins: [addStarted, bundleRequired],
    // What an operator may install beside the server.
    ssr: { noExternal: true, external: ["sharp"] },
    build: {
      ssr: join(ROOT, "src/main.ts"),
      outDir: folder,
      emptyOutDir: false,
      target: "node24",
      minify: false,
      license: { fileName: "licenses.md" },
      rolldownOptions: {
        output: { entryFileNames: "[name].js", chunkFileNames: "[name]-[hash].js" },
      },
    },
  });
}
