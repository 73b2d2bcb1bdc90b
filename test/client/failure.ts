import assert from "node:assert/strict";
import { ParleyApiError } from "../../client/src/index.ts";

/** What a call fails with; it has to, and with an error of the client's. */
export async function failure(call: PromiseLike<unknown>): Promise<ParleyApiError> {
  const error = await call.then(
    () => assert.fail("It did not fail."),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof ParleyApiError, String(error));
  assert.equal(error.message, error.detail);
  return error;
}
