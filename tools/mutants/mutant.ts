/** The service with one defence taken away, and the tests that must see it. */
export interface Mutant {
  /** What it does. */
  name: string;
  file: string;
  /** Stands in the file exactly once. */
  find: string;
  replace: string;
  /** Below `test/`, without their ending. As few and as quick as will do: each of them must fail. */
  tests: readonly string[];
}
