// Makes the folder of the npm package `parley-server`.
// usage: npm run release:server [-- FOLDER]
import { join } from "node:path";
import { ROOT } from "./bundle.ts";
import { makePackage } from "./package.ts";

const folder = process.argv[2] ?? join(ROOT, "release/parley-server");
await makePackage(folder);
console.log(`Made ${folder}. Run npm pack there.`);
