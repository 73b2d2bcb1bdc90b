// Resolves the packages of this repository to their sources. An app that installed them does not need this.
import { registerHooks } from "node:module";

registerHooks({
  resolve(specifier, context, next) {
    const [, name, part = "index"] = /^(parley-\w+)(?:\/(\w+))?$/.exec(specifier) ?? [];
    const path = name && new URL(`../packages/${name}/src/${part}.ts`, import.meta.url).href;
    return next(path || specifier, context);
  },
});
