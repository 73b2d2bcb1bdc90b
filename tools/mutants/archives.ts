// Archives: whose files they have, what their addresses allow, and what is in them.
import type { Mutant } from "./mutant.ts";

export const archives: readonly Mutant[] = [
  {
    name: "an archive opens by any signature",
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
    name: "an archive of files that the caller does not see",
    find: "if (rows.length < ids.length)",
    replace: "if (ids.length === 0)",
    tests: ["http/archives", "acceptance/archives"],
  },
  {
    name: "an archive of a conversation asks for no membership",
    find: "await checkMember(core, caller, conversationId);",
    replace: "",
    tests: ["acceptance/archives"],
  },
  {
    name: "an archive of an erased user",
    find: "const rows = user ? await",
    replace: "const rows = user || !user ? await",
    tests: ["http/archives"],
  },
  {
    name: "an archive has names that lead out of its folder",
    find: '.replace(UNSAFE, "_")',
    replace: "",
    tests: ["unit/zip-names"],
  },
];
