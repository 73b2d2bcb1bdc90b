import assert from "node:assert/strict";
import { ParleyApiError } from "../../packages/parley-client/src/index.ts";

/** Returns the error of a call, which must be the client's. */
export async function failure(call: PromiseLike<unknown>): Promise<ParleyApiError> {
  const error = await call.then(
    () => assert.fail("It did not fail."),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof ParleyApiError, String(error));
  assert.equal(error.message, error.detail);
  return error;
}
