// Archives: whose files they have, what their addresses allow, and what is in them.
import type { Mutant } from "./mutant.ts";

const ARCHIVES = "src/core/files/archives.ts";
const ZIP = "src/util/zip.ts";
const NAMES = "src/util/zip-names.ts";

export const archives: readonly Mutant[] = [
  {
    name: "an archive opens by any signature",
    file: "src/http/routes/files/archives.ts",
    find: "if (!core.links.verify(subject, expires, signature)) {",
    replace: 'if (signature === "") {',
    tests: ["attacks/archives"],
  },
  {
    name: "the signature of an archive leaves out the user",
    file: "src/core/node/links.ts",
    find: '"sha256", `${user}\\n',
    replace: '"sha256", `\\n',
    tests: ["attacks/archives"],
  },
  {
    name: "an archive of files that the caller does not see",
    file: ARCHIVES,
    find: "  if (rows.length < ids.length)\n",
    replace: "  if (ids.length === 0)\n",
    tests: ["http/files/archives.all", "acceptance/files/archives"],
  },
  {
    name: "an archive of a conversation asks for no membership",
    file: ARCHIVES,
    find: "  await checkMember(core, caller, conversationId);\n",
    replace: "",
    tests: ["acceptance/files/archives"],
  },
  {
    name: "an archive of an erased user",
    file: ARCHIVES,
    find: "const rows = user ? await",
    replace: "const rows = user || !user ? await",
    tests: ["http/files/archives.all"],
  },
  {
    name: "an archive has files that came after its link",
    file: ARCHIVES,
    find: "if (row.id <= lastId) found.push(row);",
    replace: "found.push(row);",
    tests: ["http/files/archives.all"],
  },
  {
    name: "any number of files in an archive",
    file: ARCHIVES,
    find: "if (rows.length > maxArchiveFiles) {",
    replace: "if (rows.length > 10 * maxArchiveFiles) {",
    tests: ["http/files/archives.all"],
  },
  {
    name: "any number of archives at once",
    file: ARCHIVES,
    find: "others >= limits.archivesPerUser",
    replace: "others < 0",
    tests: ["http/files/archives.all"],
  },
  {
    name: "an archive that has ended counts for ever",
    file: ARCHIVES,
    find: "archivesUnderWay.get(userId)! - 1;",
    replace: "archivesUnderWay.get(userId)!;",
    tests: ["http/files/archives.all"],
  },
  {
    name: "a file in an archive may be cut",
    file: ZIP,
    find: "    if (left !== 0) throw",
    replace: "    if (left < 0) throw",
    tests: ["unit/zip"],
  },
  {
    name: "an archive has names that lead out of its folder",
    file: NAMES,
    find: '.replace(UNSAFE, "_")',
    replace: "",
    tests: ["unit/zip-names"],
  },
  {
    name: "an archive has names of devices",
    file: NAMES,
    find: '.replace(DEVICE, "$&_")',
    replace: "",
    tests: ["unit/zip-names", "attacks/archives"],
  },
  {
    name: "an archive has names that differ only in case",
    file: NAMES,
    find: '.normalize("NFC").toUpperCase()',
    replace: '.normalize("NFC")',
    tests: ["unit/zip-names", "attacks/archives"],
  },
];
