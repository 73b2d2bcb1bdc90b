// Archives: whose files they contain, what their URLs allow, and the names in them.
import type { Mutant } from "./mutant.ts";

export const archives: readonly Mutant[] = [
  {
    name: "any signature opens an archive",
    find: "if (!core.links.verify(subject, expires, signature)) {",
    replace: 'if (signature === "") {',
    tests: ["attacks/archives"],
  },
  {
    name: "the signature of an archive leaves out the user",
    find: '"sha256", `${user}\\n',
    replace: '"sha256", `\\n',
    tests: ["attacks/archives"],
  },
  {
    name: "an archive contains files that the caller does not see",
    find: "if (rows.length < ids.length)",
    replace: "if (ids.length === 0)",
    tests: ["http/archives", "acceptance/archives"],
  },
  {
    name: "an archive of a conversation requires no membership",
    find: "await checkMember(core, caller, conversationId);",
    replace: "",
    tests: ["acceptance/archives"],
  },
  {
    name: "an archive of an erased user opens",
    find: "const rows = user ? await",
    replace: "const rows = user || !user ? await",
    tests: ["http/archives"],
  },
  {
    name: "names in an archive escape its folder",
    find: '.replace(UNSAFE, "_")',
    replace: "",
    tests: ["unit/zip-names"],
  },
];
