// The writer thread, with the writes of this suite.
import { addTestWrites } from "./test-writes.ts";

addTestWrites();
await import("../../src/db/engines/sqlite/writer.ts");
