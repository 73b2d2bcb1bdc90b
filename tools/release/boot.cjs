// The first code that runs in each thread of the single file. It lets Node load modules from the file itself.
const { registerHooks } = require("node:module");
const { getAsset } = require("node:sea");
const { isMainThread } = require("node:worker_threads");

/** No such folder is read: modules have it in their addresses, and in stack traces. */
const ROOT = "file:///parley/";

// As bin/parley does. The C library reads it when a process starts, so the process starts once more, with the same id.
if (isMainThread && process.env.MALLOC_MMAP_THRESHOLD_ === undefined) {
  const env = { ...process.env, MALLOC_MMAP_THRESHOLD_: "131072" };
  process.execve(process.execPath, [process.argv0, ...process.argv.slice(2)], env);
}

registerHooks({
  resolve: (specifier, context, next) => {
    const url = /^(?:\.|file:)/.test(specifier) ? URL.parse(specifier, context.parentURL)?.href : undefined;
    return url?.startsWith(ROOT) ? { url, format: "module", shortCircuit: true } : next(specifier, context);
  },
  load: (url, context, next) => {
    if (!url.startsWith(ROOT)) return next(url, context);
    return { format: "module", source: getAsset(url.slice(ROOT.length), "utf8"), shortCircuit: true };
  },
});
import(isMainThread ? `${ROOT}dist/main.js` : process.argv[2]);
