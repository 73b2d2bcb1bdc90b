// The first code that runs in each thread of the single file. It lets Node load modules from the file itself.
const { registerHooks } = require("node:module");
const { getAsset } = require("node:sea");
const { isMainThread } = require("node:worker_threads");

/** No such folder is read: modules have it in their addresses, and in stack traces. */
const ROOT = "file:///parley/";

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
